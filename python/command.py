#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A command in Python under its own name: locus-NAME calls main() of the module locus.NAME. make fills in where it is."""
import importlib
import os
import sys

FILE = os.path.realpath(__file__)
PLACE = os.path.realpath(os.path.join(os.path.dirname(FILE), "@PACKAGE@"))
if PLACE not in sys.path:
    sys.path.insert(0, PLACE)
sys.exit(importlib.import_module("locus." + os.path.basename(FILE)[len("locus-"):]).main())
