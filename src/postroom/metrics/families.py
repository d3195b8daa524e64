"""Our numbers in Prometheus' language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from postroom.broker.meter import Fate
from postroom.metrics import catalogue
from postroom.metrics.counting import Buckets, WorkerMeter
from postroom.metrics.dispatching import CountingDispatch
from postroom.operate.broker import SCHEDULER, SENDER
from postroom.operate.values import WORKER, Standing
from postroom.vocabulary import Status
from postroom.work.breaker import BreakerState

MOST_HOSTS = 100
MOST_ROUTES = 100
MOST_QUEUES = 20
"""How many of each are told apart: a label with ever more values would fill whoever scrapes us."""

ROLES = (WORKER, SCHEDULER, SENDER)


def text_of(standing: Standing) -> bytes:
    """What the database knows, as Prometheus reads it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Told(standing_families(standing)))
    return generate_latest(registry)


def collector_of(meter: WorkerMeter | CountingDispatch) -> Collector:
    """Whoever tells what this meter has counted."""
    return WorkerCollector(meter) if isinstance(meter, WorkerMeter) else DispatchCollector(meter)


class WorkerCollector(Collector):
    """What a worker has counted, told anew at every scrape."""

    def __init__(self, meter: WorkerMeter) -> None:
        self._meter = meter

    def collect(self) -> Iterable[Metric]:
        meter = self._meter
        attempts = _counter(catalogue.ATTEMPTS)
        for (route, outcome, phase), count in list(meter.attempts.items()):
            attempts.add_metric([route, meter.channels.get(route, ""), outcome, phase], count)
        yield attempts
        yield _counter(catalogue.TAKEOVERS, meter.takeovers)
        yield _counter(catalogue.CLAIMED, meter.claimed_emails)
        yield _counter(catalogue.SETTLED, meter.settled_emails)
        yield _counter(catalogue.SUPPRESSED, meter.suppressed_emails)
        yield _histogram(catalogue.SEND, meter.send)
        yield _histogram(catalogue.CLAIM, meter.claim)
        yield _histogram(catalogue.SETTLE, meter.settle)
        yield _histogram(catalogue.QUEUE_LAG, meter.queue_lag)


class DispatchCollector(Collector):
    """What a scheduler or a sender has counted, told anew at every scrape."""

    def __init__(self, meter: CountingDispatch) -> None:
        self._meter = meter

    def collect(self) -> Iterable[Metric]:
        meter, fates = self._meter, dict(self._meter.fates)
        yield _counter(catalogue.PUBLISHED, sum(fates.values()))
        yield _counter(catalogue.CONFIRMED, fates[Fate.CONFIRMED])
        yield _counter(catalogue.RETURNED, fates[Fate.RETURNED])
        unconfirmed = _counter(catalogue.UNCONFIRMED)
        for fate in (Fate.REFUSED, Fate.UNCONFIRMED):
            unconfirmed.add_metric([fate.value], fates[fate])
        yield unconfirmed
        yield _counter(catalogue.REQUEUED, meter.lost)
        yield _counter(catalogue.GAVE_UP, meter.gone)
        yield _counter(catalogue.ANNOUNCED, meter.announcements)
        yield _counter(catalogue.STALE, meter.too_late)
        yield _counter(catalogue.POISON, meter.poisoned)
        yield _gauge(catalogue.BROKER_CONNECTED, meter.broker_connected)


def standing_families(standing: Standing) -> Iterator[Metric]:
    """What the database knows."""
    emails = _gauge(catalogue.EMAILS)
    for status in Status:
        emails.add_metric([status], standing.counts[status])
    yield emails
    yield _gauge(catalogue.DUE, standing.due)
    yield _gauge(catalogue.OLDEST_DUE, standing.oldest_due_seconds)
    for name, metric in catalogue.TOTALS.items():
        yield _counter(metric, standing.totals[name])
    yield from _routes(standing)
    yield from _workers(standing)
    yield from _broker(standing)


def _routes(standing: Standing) -> Iterator[Metric]:
    states, waiting = _gauge(catalogue.TRANSPORT_STATE), _gauge(catalogue.WAITING)
    for route in standing.routes[:MOST_ROUTES]:
        for state in BreakerState:
            states.add_metric([route.name, state.value], route.state is state)
        waiting.add_metric([route.name], route.waiting or 0)
    yield from (states, waiting)


def _workers(standing: Standing) -> Iterator[Metric]:
    """Workers by host: their own names are new at every start."""
    workers = _gauge(catalogue.WORKERS)
    for role in ROLES:
        known = [worker for worker in standing.workers if worker.seen.role == role]
        alive = sum(worker.alive for worker in known)
        workers.add_metric([role, "alive"], alive)
        workers.add_metric([role, "silent"], len(known) - alive)
    ages: dict[str, float] = {}
    in_flight: dict[str, int] = {}
    for worker in standing.heard_last_first:
        host = worker.seen.host
        if host in ages or len(ages) < MOST_HOSTS:
            ages.setdefault(host, max(worker.silence.total_seconds(), 0.0))
            in_flight[host] = in_flight.get(host, 0) + worker.seen.in_flight
    heartbeats, held = _gauge(catalogue.HEARTBEAT_AGE), _gauge(catalogue.IN_FLIGHT)
    for host, age in ages.items():
        heartbeats.add_metric([host], age)
        held.add_metric([host], in_flight[host])
    yield from (workers, heartbeats, held)


def _broker(standing: Standing) -> Iterator[Metric]:
    """The broker as those at work tell of it."""
    broker = standing.broker
    services, messages = _gauge(catalogue.BROKER_SERVICES), _gauge(catalogue.BROKER_MESSAGES)
    for role in (SCHEDULER, SENDER):
        those = [each for each in broker.services if each.seen.role == role] if broker is not None else []
        services.add_metric([role, "connected"], sum(each.connected for each in those))
        services.add_metric([role, "away"], sum(each.away for each in those))
    if broker is not None:
        for queue, count in [*broker.depths.items(), *broker.dead_letters.items()][:MOST_QUEUES]:
            messages.add_metric([queue], count)
    yield from (services, messages)


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
