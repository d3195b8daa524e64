"""Our numbers in Prometheus' language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from postroom.claim.breaker import BreakerState
from postroom.metrics import catalogue
from postroom.metrics.counting import Buckets, WorkerMeter
from postroom.metrics.standing import Standing

MOST_HOSTS = 100
MOST_TRANSPORTS = 100
"""How many of each are told apart: a label with ever more values would fill whoever scrapes us."""


def text_of(standing: Standing) -> bytes:
    """What the database knows, as Prometheus reads it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Told(standing_families(standing)))
    return generate_latest(registry)


class WorkerCollector(Collector):
    """What a worker has counted, told anew at every scrape."""

    def __init__(self, meter: WorkerMeter) -> None:
        self._meter = meter

    def collect(self) -> Iterable[Metric]:
        meter = self._meter
        attempts = _counter(catalogue.ATTEMPTS)
        for labels, count in list(meter.attempts.items()):
            attempts.add_metric(labels, count)
        yield attempts
        yield _counter(catalogue.TAKEOVERS, meter.takeovers)
        yield _counter(catalogue.CLAIMED, meter.claimed_emails)
        yield _counter(catalogue.SETTLED, meter.settled_emails)
        yield _histogram(catalogue.SEND, meter.send)
        yield _histogram(catalogue.CLAIM, meter.claim)
        yield _histogram(catalogue.SETTLE, meter.settle)
        yield _histogram(catalogue.QUEUE_LAG, meter.queue_lag)


def standing_families(standing: Standing) -> Iterator[Metric]:
    """What the database knows."""
    emails = _gauge(catalogue.EMAILS)
    for status, count in standing.counts.items():
        emails.add_metric([status], count)
    yield emails
    yield _gauge(catalogue.OLDEST_DUE, standing.oldest_due_seconds)
    for name, metric in catalogue.TOTALS.items():
        yield _counter(metric, standing.totals[name])
    yield _transports(standing)
    yield from _workers(standing)


def _transports(standing: Standing) -> Metric:
    family = _gauge(catalogue.TRANSPORT_STATE)
    for transport in standing.transports[:MOST_TRANSPORTS]:
        for state in BreakerState:
            family.add_metric([transport.name, state.value], transport.breaker.state is state)
    return family


def _workers(standing: Standing) -> Iterator[Metric]:
    """Workers by host: their own names are new at every start."""
    workers = _gauge(catalogue.WORKERS)
    workers.add_metric(["alive"], len(standing.alive))
    workers.add_metric(["silent"], len(standing.workers) - len(standing.alive))
    ages: dict[str, float] = {}
    in_flight: dict[str, int] = {}
    for worker in standing.workers:
        if worker.host in ages or len(ages) < MOST_HOSTS:
            ages.setdefault(worker.host, standing.silence(worker))  # the one heard of last comes first
            in_flight[worker.host] = in_flight.get(worker.host, 0) + worker.in_flight
    heartbeats, held = _gauge(catalogue.HEARTBEAT_AGE), _gauge(catalogue.IN_FLIGHT)
    for host, age in ages.items():
        heartbeats.add_metric([host], age)
        held.add_metric([host], in_flight[host])
    yield from (workers, heartbeats, held)


class _Told(Collector):
    """Families that are there already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def _gauge(metric: catalogue.Metric, value: float | None = None) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.meaning, value=value, labels=metric.labels or None)


def _counter(metric: catalogue.Metric, value: float | None = None) -> CounterMetricFamily:
    return CounterMetricFamily(metric.name, metric.meaning, value=value, labels=metric.labels or None)


def _histogram(metric: catalogue.Metric, buckets: Buckets) -> HistogramMetricFamily:
    sums = list(accumulate(buckets.counts.copy()))
    ends = [*map(str, buckets.bounds), "+Inf"]
    return HistogramMetricFamily(
        metric.name, metric.meaning, buckets=list(zip(ends, sums, strict=True)), sum_value=buckets.total
    )
