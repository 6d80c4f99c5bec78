# SPDX-License-Identifier: Apache-2.0
"""locus prepare: converts what people bring into the one form that a program reads."""
from .__main__ import main

__all__ = ["main"]
