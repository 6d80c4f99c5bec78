# SPDX-License-Identifier: Apache-2.0
"""A memory of n-grams: rows of a table that a language model looks up by the last tokens."""
from typing import Any, Dict, List, Optional, Sequence

import torch

from .._c import integer
from ..errors import ArgumentError
from .devices import uncompiled
from .batch import INTEGERS
from .embedding import Embedding, Initial, integers
from .initial import Zeros

_ORDER_MAX, _HEADS_MAX = 16, 64
_ODD = 0x9E3779B97F4A7C15 - (1 << 64)  # as int64


class NgramTable(torch.nn.Module):
    """Token ids of shape (*, T) to float32 of shape (*, T, width), width = len(orders) * heads * embedding_dim.

    At each position, the last n tokens, for each n of `orders`, are hashed once for each of `heads`: each hash is a row of
    a part of the table of its own, so that n-grams that collide in one head hardly do in the next. Before the first token
    there is one that no text has. `rows`: of all parts together; a row that no step has changed takes no memory. They lie
    in `table`, an Embedding, zeros at first unless `initial` is given, which Prefetch knows by indices():

        Prefetch(loader, keys=lambda tokens: {memory.table: memory.indices(tokens)})
    """

    def __init__(self, rows: int, embedding_dim: int, orders: Sequence[int] = (2, 3), heads: int = 4, seed: int = 0, *,
                 initial: Optional[Initial] = None, dtype: Optional[torch.dtype] = None) -> None:
        super().__init__()
        self.orders: List[int] = [integer("an order", each, 1, _ORDER_MAX) for each in orders]
        self.heads = integer("heads", heads, 1, _HEADS_MAX)
        parts = len(self.orders) * self.heads
        if parts == 0 or integer("rows", rows, 1, 1 << 40) < parts:
            raise ArgumentError(f"rows is {rows} and orders {list(orders)!r}: must be at least one order, and a row for "
                                f"each of the {parts} parts, one for each order and head")
        self.each = rows // parts
        self.table = Embedding(self.each * parts, embedding_dim, initial=initial or Zeros(), dtype=dtype)
        self.width = parts * embedding_dim
        self.seed = integer("seed", seed, -(1 << 63), (1 << 63) - 1)
        drawn = torch.Generator().manual_seed(self.seed)
        self._seeds = torch.randint(-(1 << 62), 1 << 62, (parts,), generator=drawn, **INTEGERS)

    def get_extra_state(self) -> Dict[str, Any]:
        """Of its state_dict(): what says which row an n-gram has."""
        return {"rows": self.table.num_embeddings, "orders": self.orders, "heads": self.heads, "seed": self.seed}

    def set_extra_state(self, state: Dict[str, Any]) -> None:
        own = self.get_extra_state()
        if state != own:
            raise ArgumentError(f"the state is of a NgramTable with {state!r}: this one has {own!r}, so that n-grams would "
                                "have each other's rows; make it with the same")

    def indices(self, tokens: torch.Tensor) -> torch.Tensor:
        """The rows of `table`: int64 of shape (*, T, len(orders) * heads), of integers on the CPU."""
        tokens = integers("tokens", tokens)
        hashed: List[torch.Tensor] = []
        for place, order in enumerate(self.orders):
            each = self._seeds[place * self.heads:(place + 1) * self.heads].expand(*tokens.shape, self.heads)
            for back in reversed(range(order)):
                before = torch.nn.functional.pad(tokens, (back, 0), value=-1)[..., :tokens.shape[-1]]
                each = (each ^ before.unsqueeze(-1)) * _ODD
                each = each ^ (each >> 32)
            hashed.append(each)
        parts = torch.arange(len(self._seeds), **INTEGERS) * self.each
        return (torch.cat(hashed, -1) & ((1 << 62) - 1)) % self.each + parts

    @uncompiled
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.table(self.indices(tokens))
        return found.flatten(-2)
