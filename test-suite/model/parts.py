"""Parts of representations: what came as 206 may be kept, joined, and answer ranges (RFC 9111 3.3, 3.4; RFC 9110 15.3.7.3).

All of it is a cache's choice, so what is known of parts is only "maybe" there. What the model insists on is the bytes: of
one representation, in their places, and no others.
"""
from dataclasses import replace

import fields as f
from answers import FAILURE, if_range_holds
from stored import Reply


def covers(s, request, now):
    """Whether what is asked for lies within what has come, and Range is to be followed."""
    ranges = f.byte_ranges(f.first(request.fields, "range"), len(s.body))
    if ranges is None or not if_range_holds(request, s.etag, s.modified, s.date, now):
        return False
    have = {n for a, b in s.parts for n in range(a, b + 1)}
    return all(n in have for a, b in ranges for n in range(a, b + 1))


def keep(trial, e):
    """Notes what a 206 brought, where a 200 with its head would be stored."""
    told = f.content_range(f.first(e.reply.fields, "content-range"))
    if told is None or told[1] - told[0] + 1 != len(e.reply.body) or told[2] != len(e.reply.whole):
        return
    head = [(n, v) for n, v in e.reply.fields if n.lower() != "content-range"]
    s = trial.storable(replace(e, reply=Reply(200, head, e.reply.whole)))
    if s is None or not s.is_strong():
        return
    last = told[1] if e.reply.complete else told[0] + len(e.reply.body) // 2 - 1
    s = replace(s, parts=((told[0], last),), maybe=True)
    here = trial.stored.get(s.url, [])
    for o in here:
        same = o.etag == s.etag if s.etag is not None else o.etag is None and o.modified == s.modified
        if o.parts is not None and (o.vary, o.selecting, o.body) == (s.vary, s.selecting, s.body) and same:
            # 9110 15.3.7.3: the fields of the new one take the place of those of the old.
            s = replace(s, parts=o.parts + s.parts, fields=[x for x in o.fields if x[0].lower() not in {n.lower() for n, _ in s.fields}] + s.fields)
    trial.stored[s.url] = [*here, s]


def differences(trial, exchanges, answer):
    """An answer for which parts were joined with others, or validated: its bytes must be those of one representation that was
    known or has come, and what it says of them true."""
    known = [(trial.old.etag, trial.old.body)]
    for e in exchanges:
        if (e.request.method, e.request.url) != ("GET", trial.request.url):
            yield f"the origin was asked {e.request.method} {e.request.url} for parts"
        known.append((f.first(e.reply.fields, "etag"), e.reply.whole or e.reply.body))
    tag, failed = f.first(answer.fields, "etag"), any(not e.reply.complete or e.reply.status != 206 for e in exchanges)
    bodies = [body for etag, body in known if etag == tag]
    if not answer.complete:
        if not failed:
            yield "the body ends too early, though all parts came"
    elif answer.status == 206:
        told = f.content_range(f.first(answer.fields, "content-range"))
        if told is not None and not any(len(b) == told[2] and b[told[0]:told[1] + 1] == answer.body for b in bodies):
            yield f"no representation {tag} has {answer.body[:40]!r} at {told}"
    elif answer.status == 200:
        if answer.body not in bodies:
            yield f"no representation {tag} is {answer.body[:40]!r}"
    elif answer.status not in {304, 416} | FAILURE | {e.reply.status for e in exchanges}:
        yield f"status {answer.status}, which nobody said"
    # What is left of it nobody can tell from outside.
    for url, kept in trial.stored.items():
        if url == trial.request.url:
            trial.stored[url] = [replace(s, maybe=True) for s in kept]
    for e in exchanges:
        trial.admit(e)
    trial.stored[trial.request.url] = [replace(s, maybe=True) for s in trial.stored.get(trial.request.url, [])]
