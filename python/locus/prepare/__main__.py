# SPDX-License-Identifier: Apache-2.0
"""The command line of locus prepare."""
import argparse
import sys
from typing import List, Optional


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser("locus prepare", description="Converts data into the form that a program reads.")
    parser.parse_args(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
