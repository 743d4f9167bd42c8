"""The runner tests itself: a scenario that must fail is seen to fail, whatever the way."""
import contextlib
import io
import os
import time

import lab as laboratory
from lab import Scenario, check, same

GROUP = "self"


def passes(lab):
    origin = lab.origin()
    origin.page("/a", body="hello")
    with lab.client((origin.host, origin.port)) as client:
        answer = client.get("/a")
    same((answer.status, answer.text, answer.framing), (200, "hello", "length"), "a page of the origin")


def fails(lab):
    same(1, 2, "one")


def raises(lab):
    raise ValueError("unexpected")


def hangs(lab):
    time.sleep(60)


def dies(lab):
    os._exit(7)


def bad_reply(lab):
    """A client must refuse a reply with two framings."""
    origin = lab.origin()
    origin.script("/a", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    with lab.client((origin.host, origin.port)) as client:
        client.get("/a")


def bad_request(lab):
    """The origin must object to what a proxy should never send, even when the scenario does not look."""
    origin = lab.origin()
    with lab.client((origin.host, origin.port)) as client:
        client.send("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
        client.ends_within(2)


def cut_short(lab):
    origin = lab.origin()

    @origin.on("/a")
    def _(x):
        x.head(200, "Content-Length: 10")
        x.send("123")
        x.close()
    with lab.client((origin.host, origin.port)) as client:
        check(client.get("/a").whole, "the reply is whole")


def no_proxy(lab):
    """A proxy that ends at once."""
    lab.proxy()


def differs(lab):
    fails(lab)


EXPECTED = {passes: "ok", fails: "FAIL", raises: "FAIL", hangs: "FAIL", dies: "FAIL", bad_reply: "FAIL", bad_request: "FAIL",
            cut_short: "FAIL", no_proxy: "FAIL", differs: "FAIL"}


def main(run_all, wanted):
    wanted.binary, wanted.only, wanted.verbose = "/bin/false", None, False
    scenarios = [Scenario(f.__name__, f.__doc__ or f.__name__, f, False, 3 if f is hangs else 20, "reason" if f is differs else None)
                 for f in EXPECTED]
    printed = io.StringIO()
    printed.reconfigure = lambda **_: None
    with contextlib.redirect_stdout(printed):
        score = run_all(scenarios, wanted)
    text = printed.getvalue()
    wrong = [f.__name__ for f, outcome in EXPECTED.items() if f"{outcome} {f.__name__} " not in text]
    if (score.passed, score.failed) != (1, len(EXPECTED) - 1):
        wrong.append(f"counts {score.passed}, {score.failed}")
    if "one: 1, expected 2" not in text or "self_test.py" not in text:
        wrong.append("the report does not say what and where")
    if "client:" not in text or "Content-Length: 10" not in text:
        wrong.append("the report has no transcript")
    if wrong:
        print(text)
        print(f"the runner's self test failed: {', '.join(wrong)}")
        return 1
    print(f"self test: {len(EXPECTED)} passed, 0 failed")
    return 0
