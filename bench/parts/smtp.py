"""The SMTP client alone, next door: sixteen connections to one sink."""

from __future__ import annotations

import asyncio

from bench import clients
from bench.clients import Client
from bench.readings import Contestant, Reading
from bench.sinks import Sink
from bench.world import World

OURS = "SMTP client, Postroom, 16 connections"
BARE = "SMTP client, bare and pipelined, 16 connections"
THEIRS = "SMTP client, aiosmtplib, 16 connections"


def contestants(world: World) -> list[Contestant]:
    return [
        _contestant(world, OURS, clients.postroom),
        _contestant(world, BARE, clients.bare),
        _contestant(world, THEIRS, clients.aiosmtplib_client),
    ]


def _contestant(world: World, what: str, client: Client) -> Contestant:
    def measure() -> list[Reading]:
        with Sink() as sink:
            rate = asyncio.run(client(sink.port, world.scale.seconds))
        return [Reading(what=what, value=rate, unit="emails/s")]

    return Contestant(name=what, measure=measure)
