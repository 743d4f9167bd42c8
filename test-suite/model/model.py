"""A shared HTTP cache, written down from RFC 9111 to be read, not to be fast: what the real one is compared with.

It keeps no time and opens no socket. For each request it is told what passed between the proxy and the origin
and what the client got, and says what of that was wrong:

    model = Model(accelerated=False)
    reading = model.read(request, now)        # what may be done: reading.background tells the driver to wait for more
    wrong = model.check(reading, exchanges, answer, now)

Where the RFC leaves a choice, the model allows all of it, and learns from what it sees which one was taken, or it
asks for what doc/protocols.md or the manual promises; the comment at each place says which.
"""
from dataclasses import dataclass, replace

import fields as f
import parts
from answers import Expected, bodiless, failure, from_stored, passed_on, whole_or_part
from stored import CONDITIONS, MAX_STALE, MINIMUM_EXPIRY, ONE_REQUEST, REPEATABLE, SAFE, UNDERSTOOD, Control, Request, Stored, Wishes, selecting, stored_fields, timing, vary_of


@dataclass
class Course:
    """One way a request may go."""
    kind: str                    # hit, background, validate, reload, forward, refuse; parts (parts.py)
    stored: Stored | None = None
    background: bool = False     # the origin is asked besides, of which the client sees nothing


@dataclass
class Reading:
    request: Request
    wishes: Wishes
    courses: list
    now: int

    @property
    def background(self):
        return any(c.background for c in self.courses)


class Model:
    def __init__(self, accelerated=False):
        self.accelerated = accelerated
        self.stored = {}         # url -> [Stored]

    # --- before: what may be done

    def read(self, request, now):
        wishes = Wishes(request)
        courses = []
        for found in self.find(request):
            use = self.use(found, wishes, now)
            courses.append(Course(use, found, use == "background"))
            if not found.maybe:
                break
        else:
            courses += self.part_courses(request, wishes, now)
            courses.append(Course("forward"))
        for course in courses:
            # 5.2.1.7; of a method that nothing stored could answer too.
            if "only-if-cached" in wishes.flags and course.kind in ("validate", "reload", "forward", "parts"):
                course.kind = "refuse"
        return Reading(request, wishes, courses, now)

    def find(self, request):
        """RFC 9111 4: same URI, a method that allows it, selecting fields that match; the newest first. A request with content is not for
        us (9110 9.3.1)."""
        if request.method not in ("GET", "HEAD") or request.body:
            return []
        return [s for s in reversed(self.stored.get(request.url, ())) if s.parts is None and selecting(s.vary, request) == s.selecting]

    def part_courses(self, request, wishes, now):
        """Parts of a representation that came before. RFC 9111 3.3 and 3.4 let a cache keep them, answer from them what lies within, and
        fetch what is missing; it need not, so this may go several ways."""
        if request.method != "GET" or request.body or not f.lines(request.fields, "range"):
            return []
        out = []
        for s in self.stored.get(request.url, ()):
            if s.parts is not None and selecting(s.vary, request) == s.selecting:
                use = self.use(s, wishes, now)
                if use == "hit" and parts.covers(s, request, now):
                    out.append(Course("hit", s))
                out.append(Course("parts", s, use == "background"))
        return out

    def use(self, s, wishes, now):
        age = s.age(now)
        # no-cache asks for validation (5.2.1.4). So does max-age=0, of something just received too, as clients mean it.
        # The former is a reload, fetched without conditions unless reload_into_ims is on (the manual).
        if "no-cache" in wishes.flags:
            return "reload"
        if wishes.seconds.get("max-age") == 0:
            return "validate"
        if age > wishes.seconds.get("max-age", f.FOREVER * 4):                       # 5.2.1.1
            return "validate"
        if s.lifetime - age < wishes.seconds.get("min-fresh", -f.FOREVER * 4):       # 5.2.1.3
            return "validate"
        if "no-cache" in s.control.flags:                                            # 5.2.2.4
            return "validate"
        if s.lifetime > age:                                                         # 4.2
            return "hit"
        if s.forbids_stale():
            return "validate"
        staleness = age - s.lifetime
        most = wishes.seconds.get("max-stale")                                       # 5.2.1.2
        if most is not None and (most == f.FOREVER or staleness <= most):
            return "hit"
        if staleness < s.control.seconds.get("stale-while-revalidate", 0):           # RFC 5861 3
            return "background"
        return "validate"

    def may_serve_on_error(self, s, wishes, now):
        """RFC 9111 4.2.4 and RFC 5861 4. Without a word of the origin max_stale bounds it (4.2.4 allows it where we are disconnected;
        4.3.3 lets a 5xx count as that)."""
        staleness = s.age(now) - s.lifetime
        if "no-cache" in s.control.flags or "no-cache" in wishes.flags:
            return False
        if staleness < 0:
            return True
        if s.forbids_stale():
            return False
        said = [v for v in (s.control.seconds.get("stale-if-error"), wishes.seconds.get("stale-if-error")) if v is not None]
        return staleness <= (max(said) if said else MAX_STALE)

    def expects_more(self, reading, exchanges):
        """Whether a refresh in the background is not over yet: the client has its answer already, and nobody else tells."""
        if not reading.background or not exchanges:
            return reading.background
        trial, last = Trial(self, reading, next(c for c in reading.courses if c.background)), exchanges[-1]
        lost = last.reply.status == 0 and last.reused
        return reading.request.method in REPEATABLE and (lost or (len(exchanges) == 1 and trial.is_useless(last.reply, trial.old.validators())))

    # --- after: was it right?

    def check(self, reading, exchanges, answer):
        """What was wrong, as a list of sentences; nothing, and the model has learned what is stored now."""
        complaints = []
        for course in reading.courses:
            trial = Trial(self, reading, course)
            wrong = list(trial.differences(exchanges, answer))
            if not wrong:
                self.stored = trial.stored
                return []
            complaints.append((course.kind, wrong))
        if len(complaints) == 1:
            return complaints[0][1]
        return [line for kind, wrong in complaints for line in (f"were it {kind}:", *wrong)]

    def control_of(self, fields):
        """RFC 9213 2: on an accelerator's port a valid CDN-Cache-Control takes the place of Cache-Control and Expires."""
        if self.accelerated:
            targeted = f.dictionary(f.lines(fields, "cdn-cache-control"))
            if targeted is not None:
                return Control(targeted, targeted=True)
        return Control(f.directives(fields))


class Trial:
    """One course a request may have taken, held against what was seen."""

    def __init__(self, model, reading, course):
        self.model, self.request, self.wishes, self.now = model, reading.request, reading.wishes, reading.now
        self.kind, self.old = course.kind, course.stored
        self.stored = {url: list(kept) for url, kept in model.stored.items()}     # as it is afterwards

    def differences(self, exchanges, answer):
        self.answer = answer
        if self.kind in ("hit", "refuse"):
            if exchanges:
                yield f"the origin was asked {exchanges[0].request.method} with {exchanges[0].request.fields}, though this is a {self.kind}"
                return
        elif not exchanges:
            yield f"the origin was not asked, though this is to {self.kind}"
            return
        if self.kind in ("hit", "background"):
            yield from self.answered(from_stored(self.request, self.old, self.now, "from the cache"))
            yield from self.status_differences()
        elif self.kind == "parts":
            yield from parts.differences(self, exchanges, answer)
            return
        elif self.kind == "refuse":
            yield from self.answered([Expected("only-if-cached", {504}, absent=("x-reply",))])
        if self.kind not in ("hit", "refuse"):
            yield from self.fetched(exchanges)

    def answered(self, allowed):
        """The answer must be one of these. Of a background refresh the client saw nothing."""
        head = self.request.method == "HEAD"
        complaints = [list(each.differences(self.answer, head)) for each in allowed]
        if all(complaints):
            yield from complaints[0]

    def status_differences(self):
        """Cache-Status of a hit (RFC 9211 2): what is left of its lifetime."""
        told = f.first(self.answer.fields, "cache-status") or ""
        wanted = f";hit;ttl={self.old.lifetime - self.old.age(self.now)}"
        if wanted not in told:
            yield f"cache-status: {told!r}, expected {wanted!r}"

    # --- the origin's side

    def fetched(self, exchanges):
        ours = self.old.validators() if self.old and self.kind in ("validate", "background") else []
        for i, e in enumerate(exchanges):
            yield from self.request_differences(e.request, self.conditions(ours))
            last = i + 1 == len(exchanges)
            if last:
                break
            # RFC 9110 9.2.2: what may be repeated is, when a connection that was used before ended without an answer.
            repeated = self.request.method in REPEATABLE and not self.request.body
            lost = e.reply.status == 0
            # RFC 9111 4.3.4: a 304 about another response can update nothing: asked again, without conditions.
            useless = self.is_useless(e.reply, ours)
            if not repeated or not (lost or useless):
                yield f"the origin was asked again after {e.reply.status or 'it closed the connection'}"
                return
            if useless:
                ours = []
                self.kind = "again" if self.kind == "validate" else self.kind
        yield from self.concluded(exchanges[-1], ours)

    def is_useless(self, reply, ours):
        return reply.status == 304 and bool(ours) and not self.selects(reply)

    def conditions(self, ours):
        """RFC 9111 4.3.1: the validators of what is stored. What only an origin may judge goes along (4.3.2)."""
        if self.kind == "background" or self.kind == "again":
            return ours
        wanted = ("if-match", "if-unmodified-since") if ours else CONDITIONS
        return ours + [(n.lower(), v) for n, v in self.request.fields if n.lower() in wanted]

    def request_differences(self, asked, conditions):
        request = self.request
        if (asked.method, asked.url) != (request.method, request.url):
            yield f"the origin was asked {asked.method} {asked.url}"
            return
        got = sorted((n.lower(), v) for n, v in asked.fields if n.lower() in CONDITIONS)
        if got != sorted(conditions):
            yield f"the origin was asked with the conditions {got}, expected {sorted(conditions)} ({self.kind})"
        gone = f.hop_by_hop(request.fields) | set(CONDITIONS) | {"host", "content-length"}
        for n in dict.fromkeys(n.lower() for n, _ in request.fields):
            if n not in gone and f.lines(asked.fields, n) != [v.strip(" \t") for v in f.lines(request.fields, n)]:
                yield f"{n} reached the origin as {f.lines(asked.fields, n)}, not {f.lines(request.fields, n)}"

    # --- what its last word means

    def concluded(self, e, ours):
        status, to_client = e.reply.status, self.kind != "background"
        usable = self.kind in ("validate", "again", "background") and self.model.may_serve_on_error(self.old, self.wishes, e.answered)
        if status == 0 or (status == 304 and not self.answers_condition(e.reply, ours)):
            outcome = from_stored(self.request, self.old, e.answered, "stale, as the origin failed") if usable else [failure()]
        elif status == 304 and ours:
            fresh, stays = self.freshened(e)
            if "no-store" not in self.wishes.flags:                                  # RFC 9111 5.2.1.5: nor any part of it
                self.replace(self.old, fresh if stays else None)
            outcome = from_stored(self.request, fresh, e.answered, "validated")
        elif status >= 500 and usable:                                               # RFC 9111 4.3.3
            outcome = from_stored(self.request, self.old, e.answered, "stale, as the origin answered " + str(status))
        else:
            outcome = self.passed(e, ours)
            self.invalidate(e)
            self.admit(e)
            if self.request.method == "HEAD" and self.old:
                self.compare(e)
        if to_client:
            yield from self.answered(outcome)

    def answers_condition(self, reply, ours):
        if ours:
            return self.selects(reply)
        return self.kind not in ("again", "background") and any(f.lines(self.request.fields, n) for n in ("if-none-match", "if-modified-since"))

    def passed(self, e, ours):
        """What the origin said is what the client gets."""
        r, fields = e.reply, passed_on(e.reply, e.answered)
        if r.status == 200 and (ours or self.kind == "again"):     # the client's Range stayed here
            date, *_ = timing(r.status, r.fields, self.model.control_of(r.fields), e.asked, e.answered)
            out = whole_or_part(self.request, "the origin's", fields, r.body, date, e.answered, cut=not r.complete)
            # RFC 9110 14.2: Range may be ignored; here where nobody knows yet how long the whole is.
            return out if r.framing != "close" else out + [Expected("the origin's whole", {200}, fields, body=r.body)]
        body = b"" if bodiless(self.request, r.status) else r.body
        return [Expected("the origin's", {r.status}, fields, body=body, cut=not r.complete)]

    def selects(self, reply):
        """RFC 9111 4.3.4: is a 304 about what is stored? Where both have an entity tag that decides. A Last-Modified is strong
        where the stored Date is later (RFC 9110 8.8.2.2). A 304 without any validator is taken to be about what was asked, though
        4.3.4 would have it so only where what is stored has none either (doc/protocols.md)."""
        tag, modified, old = f.first(reply.fields, "etag"), f.first(reply.fields, "last-modified"), self.old
        when = f.date(modified, old.date)
        same_time = modified is not None and (modified == old.modified or (when is not None and when == f.date(old.modified, old.date)))
        if tag and old.etag:     # weakly, against the letter: the 304s of nginx have the strong form of what compression made weak
            return tag == old.etag or f.same_tag(tag, old.etag)
        if f.is_strong(tag):
            return same_time and when is not None and old.date > when
        return same_time if tag or modified else True

    def freshened(self, e):
        """RFC 9111 3.2, 4.3.4: (the stored response with the fields of this one, whether it may stay)."""
        old, news = self.old, e.reply.fields
        if not f.lines(news, "date"):
            news = [*news, ("Date", f.http_date(e.answered))]                        # RFC 9110 6.6.1
        untouched = f.hop_by_hop(news) | {"content-length", "content-encoding", "content-range", "age"}
        news = [(n, v) for n, v in news if n.lower() not in untouched]
        names = {n.lower() for n, _ in news}
        fields = [(n, v) for n, v in old.fields if n.lower() not in names] + news
        control = self.model.control_of(fields)
        # The Age of this message counts for its own age (4.2.3).
        date, initial, lifetime, explicit = timing(old.status, fields + [x for x in e.reply.fields if x[0].lower() == "age"], control, e.asked, e.answered)
        fresh = replace(old, fields=stored_fields(fields, control), control=control, date=date, received=e.answered, initial_age=initial,
                        lifetime=lifetime or 0, explicit=explicit)
        # Another Vary makes another variant of it, which only a whole answer can be.
        stays = not (control.flags & {"no-store", "private"} - ({"no-store"} if "must-understand" in control.flags else set()))
        return fresh, stays and vary_of(fields) == old.vary

    # --- what is stored afterwards

    def replace(self, old, new):
        kept = [s for s in self.stored.get(old.url, ()) if s is not old]
        self.stored[old.url] = kept + ([new] if new else [])

    def invalidate(self, e):
        """RFC 9111 4.4: what an unsafe (or unknown) method has changed, and what the answer names on the same origin."""
        if self.request.method in SAFE or not 200 <= e.reply.status < 400:
            return
        self.stored[self.request.url] = []
        for name in ("location", "content-location"):
            named = f.resolved(self.request.url, f.first(e.reply.fields, name))
            if named:
                self.stored[named] = []

    def admit(self, e):
        request, reply = self.request, e.reply
        if reply.status == 206:
            return parts.keep(self, e)
        s = self.storable(e)
        here = self.stored.get(request.url, [])
        if not s and not self.outdates(reply.status):
            return
        # 4.1: the newest Vary decides; variants of another are not looked at any more, so they go.
        out = [o for o in here if not s or o.vary != s.vary or o.selecting == s.selecting]
        if reply.complete:
            self.stored[request.url] = [o for o in here if o not in out] + ([s] if s else [])
        else:
            # 4.3.3: a full response says that what is stored is none of what was asked for; whether it goes before or after the
            # whole has come is left open.
            self.stored[request.url] = [replace(o, maybe=True) if o in out else o for o in here]

    def storable(self, e):
        """RFC 9111 3: a Stored, or None."""
        request, reply = self.request, e.reply
        if request.method not in ("GET", "POST") or (request.method == "GET" and request.body) or "no-store" in self.wishes.flags:
            return None
        if reply.status < 200 or reply.status in ONE_REQUEST:
            return None
        control = self.model.control_of(reply.fields)
        date, initial, lifetime, explicit = timing(reply.status, reply.fields, control, e.asked, e.answered)
        if request.method == "POST":                                                 # RFC 9110 9.3.3
            named = f.lines(reply.fields, "content-location")
            if len(named) != 1 or reply.status != 200 or f.resolved(request.url, named[0]) != request.url or not (explicit and lifetime):
                return None
        understood = reply.status in UNDERSTOOD
        if "must-understand" in control.flags and not understood:                    # 5.2.2.3
            return None
        if "no-store" in control.flags and "must-understand" not in control.flags:
            return None
        if "private" in control.flags:                                               # 5.2.2.7
            return None
        if f.lines(request.fields, "authorization") and not (control.flags & {"public", "must-revalidate"} or "s-maxage" in control.seconds):
            return None                                                              # 3.5
        vary = vary_of(reply.fields)
        if vary is None or lifetime is None:
            return None
        validator = any(f.lines(reply.fields, n) for n in ("etag", "last-modified"))
        # Of no use: it could be neither served nor validated (the manual's minimum_expiry_time).
        if not validator and (lifetime < MINIMUM_EXPIRY or lifetime <= initial):
            return None
        return Stored(request.url, reply.status, stored_fields(reply.fields, control), reply.body, control, date, e.answered, initial, lifetime,
                      explicit, vary, selecting(vary, request))

    def outdates(self, status):
        """A newer answer that may not be stored itself: what is stored is known to be old, and goes, as in Squid (RFC 9111 4: a cache may
        always forget). Not by an answer to a part, for one user, or by a failure."""
        r = self.request
        asks_for_itself = any(f.lines(r.fields, n) for n in ("range", "authorization"))
        return (r.method == "GET" and not r.body and not asks_for_itself and "no-store" not in self.wishes.flags
                and status in (200, 203, 300, 301, 302, 303, 307, 308, 404, 410))

    def compare(self, e):
        """RFC 9111 4.3.5: a 200 to HEAD renews what is stored, or takes it away."""
        r, old = e.reply, self.old
        if old.status != 200 or r.status != 200 or "no-store" in self.wishes.flags or f.lines(self.request.fields, "authorization") or \
                f.lines(self.request.fields, "range"):
            return
        tag, modified = f.first(r.fields, "etag"), f.first(r.fields, "last-modified")
        when = f.date(modified, e.answered)
        same = (tag is None or tag == old.etag or f.same_tag(tag, old.etag)) and \
               (modified is None or modified == old.modified or (when is not None and when == f.date(old.modified, e.answered))) and \
               (r.framing != "length" or len(r.body) == len(old.body))
        fresh, stays = self.freshened(e)
        self.replace(old, fresh if same and stays else None)
