"""Checks what a training program prints with --json: json_lines.py EPOCHS [MINIMUM_MRR] < lines

Events must be epochs 1 ... EPOCHS, evaluations, and in the end valid, test and (with locus) stats. Prints the MRR of the
test split."""
import json
import math
import sys


def check(condition, what):
    if not condition:
        sys.exit("json_lines.py: " + what)


def check_epoch(event, number):
    check(event["epoch"] == number, f"epoch {event['epoch']} comes where {number} should")
    for name in ("seconds", "examples_per_second", "loss"):
        check(math.isfinite(event[name]) and event[name] > 0, f"{name} of epoch {number} is {event[name]}")


def check_eval(event):
    check(event["split"] in ("valid", "test"), f"the split is {event['split']}")
    check(0 < event["mrr"] <= 1, f"MRR is {event['mrr']}")
    check(0 <= event["hits@1"] <= event["hits@10"] <= 1, "hits@1 and hits@10 are no shares")
    check(event["hits@1"] <= event["mrr"] + 1e-9, "MRR is below hits@1")


def check_stats(event):
    for name, value in event.items():
        check(name == "event" or value >= 0 and (isinstance(value, int) or name.endswith("_s")), f"{name} is {value}")
    check(event["pulled_local"] + event["pulled_replica"] + event["pulled_remote"] > 0, "nothing was pulled")


def main():
    epochs, minimum = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0
    events = [json.loads(line) for line in sys.stdin]
    seen = 0
    for event in events:
        if event["event"] == "epoch":
            seen += 1
            check_epoch(event, seen)
        elif event["event"] == "eval":
            check_eval(event)
        else:
            check(event["event"] == "stats", f"there is an event {event['event']}")
            check_stats(event)
    check(seen == epochs, f"{seen} epochs, not {epochs}")
    end = [event.get("split", event["event"]) for event in events]
    if end[-1] == "stats":
        end.pop()
    check(end[-2:] == ["valid", "test"], f"the end is {end[-2:]}")
    mrr = [event["mrr"] for event in events if event.get("split") == "test"][-1]
    check(mrr >= minimum, f"MRR of test is {mrr}, below {minimum}")
    print(f"test MRR {mrr:.4f}, stats {events[-1]['event'] == 'stats'}")


main()
