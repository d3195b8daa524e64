"""Metrics as Prometheus reads them."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from postroom.metrics.catalogue import Metric

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Scrape:
    """What a scrape found: `scrape("postroom_emails", status="dead")`."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples: Samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        return self.samples[name, tuple(sorted(labels.items()))]

    def sum_of(self, name: str) -> float:
        """Over all labels."""
        return sum(value for (each, _), value in self.samples.items() if each == name)

    def labels_of(self, name: str) -> set[tuple[str, ...]]:
        """The names of the labels, of each sample."""
        return {tuple(label for label, _ in labels) for each, labels in self.samples if each == name}


def family_name(metric: Metric) -> str:
    """As the parser names it: counters without their ending."""
    return metric.name.removesuffix("_total")
