"""The caller's own connection, whatever its driver.

An email is enqueued inside the caller's transaction: it is in the outbox when that commits and never was when it rolls
back. `recognise` tells by the names of its classes what kind of connection the caller has brought, and gives back a
caller that carries plans out on it. No driver is imported that the caller does not use.

`transaction` decides what holds the statements of a plan together, `driver` carries them out, and the files named
after drivers and frameworks say how each of them executes one statement.
"""

from postroom.store.connections.caller import AsyncCaller, Caller, SyncCaller
from postroom.store.connections.recognise import recognise

__all__ = ["AsyncCaller", "Caller", "SyncCaller", "recognise"]
