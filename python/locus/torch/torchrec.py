# SPDX-License-Identifier: Apache-2.0
"""What scripts use of TorchRec on CPUs: EmbeddingBagCollection, over its KeyedJaggedTensor or the one below.

    from locus.torch.torchrec import EmbeddingBagCollection    # instead of torchrec's; configurations may be torchrec's
    bags = EmbeddingBagCollection(tables=[EmbeddingBagConfig(...), ...])
    optimizer = locus.torch.RowAdagrad(bags, lr=0.1)
    with locus.torch.open(optimizer):
        for batch in locus.torch.Prefetch(loader, keys=lambda batch: bags.indices(batch.sparse_features)):
            vectors = bags(batch.sparse_features)["user"]      # (batch, embedding_dim)

No sharding plan and no DistributedModelParallel: the manager places rows. Dense layers are torch's.
"""
from enum import Enum
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ..errors import ArgumentError
from .devices import uncompiled
from .embedding import EmbeddingBag, Initial
from .initial import Filled, Uniform


class PoolingType(Enum):
    SUM, MEAN = "SUM", "MEAN"


class EmbeddingBagConfig(NamedTuple):
    """A table, and the features that look it up."""

    num_embeddings: int
    embedding_dim: int
    name: str
    feature_names: List[str]
    pooling: Any = PoolingType.SUM
    weight_init_max: Optional[float] = None
    weight_init_min: Optional[float] = None
    init_fn: Optional[Callable[[torch.Tensor], Optional[torch.Tensor]]] = None


_UNKNOWN = ("num_embeddings_post_pruning", "need_pos", "use_virtual_table", "total_num_buckets")


_DATA_TYPES = {"FP32": torch.float32, "BF16": torch.bfloat16}


def _data_type_of(table: Any) -> str:
    return getattr(getattr(table, "data_type", None), "name", "FP32")


def _checked(table: Any) -> Any:
    """A configuration of TorchRec's may say more than one of ours."""
    said = {name: getattr(table, name, None) for name in _UNKNOWN}
    data_type = _data_type_of(table)
    said["data_type"] = data_type if data_type not in _DATA_TYPES else None
    for name, value in said.items():
        if value:
            raise ArgumentError(f"{name} of table {table.name!r} is {value!r}: locus.torch has nothing like it, leave it out")
    return table


def _initial_of(table: Any) -> Initial:
    """As TorchRec has it: what init_fn makes of a tensor (Filled's, smaller than the table), or else uniform numbers, up to
    1 / sqrt(num_embeddings) unless told."""
    bound = table.num_embeddings ** -0.5
    least, most, init_fn = (getattr(table, name, None) for name in ("weight_init_min", "weight_init_max", "init_fn"))
    if init_fn is None and least is None and most is None:
        return Uniform(bound)

    def fill(shape: Any, dtype: torch.dtype) -> torch.Tensor:
        values = torch.empty(shape, dtype=dtype)
        if init_fn is None:
            return values.uniform_(-bound if least is None else least, bound if most is None else most)
        made: Optional[torch.Tensor] = init_fn(values)
        return values if made is None else made
    return Filled(fill)


class KeyedJaggedTensor:
    """Bags of indices of several features: of the first one all examples' bags, then of the next one. `lengths`: of each
    bag, (features * batch,); or `offsets`, where they begin and where the last one ends."""

    def __init__(self, keys: Sequence[str], values: torch.Tensor, weights: Optional[torch.Tensor] = None,
                 lengths: Optional[torch.Tensor] = None, offsets: Optional[torch.Tensor] = None) -> None:
        if lengths is None and offsets is None:
            raise ArgumentError("neither `lengths` nor `offsets` of a KeyedJaggedTensor are given: give one")
        self._keys, self._values, self._weights = list(keys), values, weights
        self._offsets: torch.Tensor = offsets if offsets is not None else torch.nn.functional.pad(
            lengths.cumsum(0), (1, 0))  # type: ignore[union-attr]

    @classmethod
    def from_lengths_sync(cls, keys: Sequence[str], values: torch.Tensor, lengths: torch.Tensor,
                          weights: Optional[torch.Tensor] = None) -> "KeyedJaggedTensor":
        return cls(keys, values, weights, lengths)

    @classmethod
    def from_offsets_sync(cls, keys: Sequence[str], values: torch.Tensor, offsets: torch.Tensor,
                          weights: Optional[torch.Tensor] = None) -> "KeyedJaggedTensor":
        return cls(keys, values, weights, offsets=offsets)

    def keys(self) -> List[str]:
        return self._keys

    def values(self) -> torch.Tensor:
        return self._values

    def weights(self) -> Optional[torch.Tensor]:
        return self._weights

    def weights_or_none(self) -> Optional[torch.Tensor]:
        return self._weights

    def offsets(self) -> torch.Tensor:
        return self._offsets

    def lengths(self) -> torch.Tensor:
        return self._offsets[1:] - self._offsets[:-1]


class KeyedTensor:
    """Of each key, a matrix of (batch, its length)."""

    def __init__(self, keys: Sequence[str], length_per_key: Sequence[int], values: torch.Tensor) -> None:
        self._keys, self._lengths, self._values = list(keys), list(length_per_key), values

    def keys(self) -> List[str]:
        return self._keys

    def values(self) -> torch.Tensor:
        return self._values

    def length_per_key(self) -> List[int]:
        return self._lengths

    def to_dict(self) -> Dict[str, torch.Tensor]:
        return dict(zip(self._keys, torch.split(self._values, self._lengths, 1)))

    def __getitem__(self, key: str) -> torch.Tensor:
        return self.to_dict()[key]


class EmbeddingBagCollection(torch.nn.Module):
    """Tables by the features that look them up. A feature of several tables is called feature@table in the result, whose
    values are (batch, all dimensions), table by table. `is_weighted`: by the weights of the features, sums only. First
    values are those of the configurations' init_fn, or weight_init_min and _max. A `device` "meta" changes nothing."""

    def __init__(self, tables: Sequence[Any], is_weighted: bool = False, device: Any = None) -> None:
        super().__init__()
        self.tables, self._is_weighted = [_checked(each) for each in tables], is_weighted
        self.embedding_bags = torch.nn.ModuleDict()
        for each in self.tables:
            if each.name in self.embedding_bags:
                raise ArgumentError(f"two tables have the name {each.name!r}: each must have its own")
            mode = str(getattr(each.pooling, "value", each.pooling)).lower()
            self.embedding_bags[each.name] = EmbeddingBag(each.num_embeddings, each.embedding_dim, mode=mode,
                                                          initial=_initial_of(each), device=device,
                                                          dtype=_DATA_TYPES[_data_type_of(each)])
        features = [feature for each in self.tables for feature in each.feature_names]
        self._names = [f"{feature}@{each.name}" if features.count(feature) > 1 else feature
                       for each in self.tables for feature in each.feature_names]
        self._lengths = [each.embedding_dim for each in self.tables for _ in each.feature_names]

    def embedding_bag_configs(self) -> List[Any]:
        return self.tables

    def is_weighted(self) -> bool:
        return self._is_weighted

    def indices(self, features: Any) -> Dict[EmbeddingBag, torch.Tensor]:
        """What forward() will look up, as Prefetch asks for it."""
        return {self._bag(each): self._bags_of(each, features)[0] for each in self.tables}

    def _bag(self, table: Any) -> EmbeddingBag:
        bag: EmbeddingBag = self.embedding_bags[table.name]
        return bag

    def _bags_of(self, table: Any, features: Any) -> Tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
        """Of the table's features, one after the other: indices, where bags begin, weights."""
        keys, offsets = list(features.keys()), features.offsets().long()
        batch = (len(offsets) - 1) // len(keys)
        of_all = features.weights_or_none() if self._is_weighted else None
        if self._is_weighted and of_all is None:
            raise ArgumentError("the collection is weighted, but these features have no weights: give them, or leave "
                                "is_weighted out")
        values, begins, weights, end = [], [], [], 0
        for feature in table.feature_names:
            if feature not in keys:
                raise ArgumentError(f"feature {feature!r} of table {table.name!r} is not among {keys!r}")
            of = offsets[keys.index(feature) * batch:][:batch + 1]
            first, last = int(of[0]), int(of[-1])
            values.append(features.values()[first:last])
            begins.append(of[:-1] - first + end)
            weights.append(of_all[first:last] if of_all is not None else None)
            end += last - first
        return torch.cat(values), torch.cat(begins), torch.cat(weights) if self._is_weighted else None

    @uncompiled
    def forward(self, features: Any) -> KeyedTensor:
        parts = []
        for each in self.tables:
            indices, offsets, weights = self._bags_of(each, features)
            found = self._bag(each)(indices, offsets, weights)
            parts += found.chunk(len(each.feature_names))
        return KeyedTensor(self._names, self._lengths, torch.cat(parts, 1))
