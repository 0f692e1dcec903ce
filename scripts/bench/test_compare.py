"""Tests of what is made of measurements."""

import ast
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from types import SimpleNamespace

from . import compare, load, machine, media, paper, published, service
from .peers import install, roster, speak

HERE = Path(__file__).parent


def a_round(capacity=100.0, half=0.010, high=0.020, goodput=95.0):
    """What loads() tells of one workload on one server."""
    common = {"rate": 1.0, "throughput": 50.0, "goodput": 50.0, "p50": 0.005, "p99": 0.01, "answers": 40, "cpu": 0.01, "memory": 2**20, "steady": True}
    return {
        "capacity": common | {"throughput": capacity, "rate": None}, "half": common | {"p99": half},
        "high": common | {"p99": high}, "same": common | {"p99": high}, "twice": common | {"goodput": goodput},
    }


def a_comparison(results, absent=None, provider="cpu"):
    """What a run of scripts/benchmark-peers knows at its end."""
    return SimpleNamespace(
        provider=provider, given=compare.GIVEN[provider], settings={"version": "1.31.1", "provider": provider, "sessions": 1, "intra_op_threads": 2}, flags=["--deadline", "1s"], rounds=2, seconds=[2.0, 2.2], workloads=["mix"],
        peers=[p for p in roster.PEERS if p.name in results["mix"]], absent=absent or {}, layouts={"Gin": (1, 2)}, default=(2, 1), differences={"Gin": 1e-7}, rows={"image-synthesis": 2}, results=results,
    )


class Machine(unittest.TestCase):
    """Two kinds of processor that took 11 and 19 ms for the same picture had the same name in the documents."""

    def test_what_a_processor_has(self):
        self.assertEqual(machine.instructions(["sse4_2"]), [])
        self.assertEqual(machine.instructions(["avx2", "avx"]), ["AVX2"])
        self.assertEqual(machine.instructions(["avx2", "avx_vnni"]), ["AVX2 with VNNI"])
        self.assertEqual(machine.instructions(["avx2", "avx512f", "avx512_vnni"]), ["AVX-512 with VNNI"])


class Ratios(unittest.TestCase):
    """The service is compared with a peer within the same round."""

    def test_ahead_is_above_one(self):
        ours, theirs = [a_round(120, 0.010), a_round(100, 0.010)], [a_round(100, 0.030), a_round(50, 0.005)]
        self.assertEqual(paper.ratios(ours, theirs, "capacity", "throughput"), [1.2, 2.0])
        self.assertEqual(paper.ratios(ours, theirs, "half", "p99", True), [3.0, 0.5])

    def test_a_round_without_figures_is_left_out(self):
        theirs = [{"error": "no request succeeded"}, a_round(50)]
        self.assertEqual(paper.ratios([a_round(), a_round()], theirs, "capacity", "throughput"), [2.0])

    def test_spread(self):
        self.assertEqual(paper.spread([], paper.times), "–")
        self.assertEqual(paper.spread([2], paper.times), "2.00×")
        self.assertEqual(paper.spread([3, 1, 2], paper.times), "2.00× (1.00× – 3.00×)")

    def test_goals(self):
        told = paper.goals({"mix": {"deepfaked": [a_round(100, 0.01, 0.02, 89)], "Gin": [a_round(101, 0.02, 0.01)]}})
        self.assertIn("| `mix` | throughput | not reached: ahead are Gin |", told)
        self.assertIn("| `mix` | p99 at 50 % | reached |", told)
        self.assertIn("| `mix` | p99 at 80 % | not reached: ahead are Gin |", told)
        self.assertIn("| `mix` | goodput at 200 % | not reached: 89 % of the peak |", told)

    def test_uneven_rounds_are_told(self):
        """FastAPI did 80 a second in two rounds and 112 in one, and its median passed for what it does."""
        results = {"mix": {"Gin": [a_round(100), a_round(120)], "FastAPI": [a_round(80), a_round(112)]}, "sound": {"FastAPI": [a_round(50), {"error": "it fell"}]}}
        self.assertIn("differed by more than 1.25 times, so that their figures say less: FastAPI (`mix`).", paper.uneven(results)[0])
        self.assertEqual(paper.uneven({"mix": {"Gin": [a_round(100), a_round(120)]}}), [])

    def test_what_was_not_measured_is_not_reached(self):
        """Without a figure of ours there was nobody ahead, and so the goal was called reached."""
        ours = a_round(100) | {"same": a_round()["same"] | {"p99": None}}
        told = paper.goals({"mix": {"deepfaked": [ours], "Gin": [a_round(50)]}, "sound": {"deepfaked": [{"error": "it fell"}], "Gin": [a_round(50)]}})
        self.assertIn("| `mix` | throughput | reached |", told)
        self.assertIn("| `mix` | p99 at the same load | not measured |", told)
        self.assertIn("| `sound` | throughput | not measured |", told)
        # Nor are rounds compared in which only one of the two was there.
        for theirs in ([{"error": "it fell"}], [{"error": "it fell"}, a_round(50)]):
            told = paper.goals({"mix": {"deepfaked": [a_round(100), {"error": "it fell"}], "Gin": theirs}})
            self.assertIn("| `mix` | throughput | not measured |", told)

    def test_goals_that_differ_from_round_to_round(self):
        """The median alone told which of two was ahead where neither always was."""
        told = paper.goals({"mix": {"deepfaked": [a_round(100), a_round(100), a_round(100)], "Gin": [a_round(90), a_round(101), a_round(98)]}})
        self.assertIn("| `mix` | throughput | reached; not in every round: Gin |", told)


class Document(unittest.TestCase):
    """The document says everything that people need to judge the figures."""

    def test_peers(self):
        results = {"mix": {"deepfaked": [a_round(), a_round(110)], "Gin": [a_round(50), {"error": "no request succeeded"}]}}
        told = paper.told(a_comparison(results, {"Ray": "not installed: no such wheel"}), machine.facts(), 90)
        text = paper.document(told)
        for words in ("105.0/s (100.0/s – 110.0/s)", "2.00×", "1 × 2 threads", "2 for image-synthesis", "1e-07 off", "Gin: no request succeeded", "**Ray** 2.", "no such wheel", machine.facts()["date"]):
            self.assertIn(words, text)

    def test_peers_on_a_gpu(self):
        """What peers are given there is said: batches and queues of a processor would starve a GPU."""
        c = a_comparison({"mix": {"deepfaked": [a_round()], "Mosec": [a_round(50)]}}, provider="cuda")
        text = paper.document(paper.told(c, machine.facts(), 90))
        for words in ("# Beside other servers, on a GPU", "[benchmarks-gpu.md]", "CUDA provider", "`max_batch_size` 16", "`capacity` 256", f"{8 * machine.cores()} clients for `mix`"):
            self.assertIn(words, text)
        self.assertNotRegex(text, r"as many as peers let wait|{[a-z]+}")

    def test_what_was_measured_is_told_before_old_plots_go(self):
        """Plots are committed: the document said of every checkout that it had changes, its own."""
        with tempfile.TemporaryDirectory() as out:
            old = Path(out) / "benchmarks" / "a.png"
            old.parent.mkdir()
            old.touch()
            with (
                unittest.mock.patch("sys.argv", ["benchmark", "--out", out, "--media", out]), unittest.mock.patch.multiple(published, must_be_built=unittest.mock.DEFAULT, end_on_signal=unittest.mock.DEFAULT),
                unittest.mock.patch.object(machine, "facts", old.exists), unittest.mock.patch.object(published, "run") as run,
            ):
                published.main()
            self.assertTrue(run.call_args.args[-1])
            self.assertFalse(old.exists())

    def test_alone(self):
        step = {
            "load": {"arrivals": "poisson", "rate": 8.0}, "steady": False, "throughput": 7.9, "goodput": 7.5, "statuses": {"200": 80, "429": 3}, "errors": {"timeout": 1}, "unsent": 2,
            "latency": {"sync": {"count": 200, "p50": 0.0123, "p90": 0.02, "p99": 0.5, "p99.9": 12.0}}, "server": {"cpu_per_success": 0.05, "resident_bytes": 2**30}, "successes": 80,
        }
        text = published.document(machine.facts(), {"version": "1", "provider": "cpu", "sessions": 1, "intra_op_threads": 2}, [("mix", "sync", [("50 %", step)])], 20.0, Path("/nonexistent/benchmarks"))
        self.assertIn("Outstanding: nothing has been measured on a GPU", text)
        self.assertIn("| mix | synchronous | – | – |", text)
        with tempfile.TemporaryDirectory() as box:
            (Path(box) / "notes.md").write_text("Nothing else.")
            text = published.document(machine.facts(), {"version": "1", "provider": "cuda", "sessions": 2, "intra_op_threads": 1}, [("mix", "sync", [("50 %", step)])], 20.0, Path(box))
        self.assertIn("# How fast the service is on a GPU", text)
        self.assertTrue(text.endswith("Nothing else.\n"))
        self.assertIn("| mix | synchronous | 50 % | 8.0 | 7.9/s | 7.5/s | 12 ms | 20 ms | 500 ms | – | 429: 3, timeout: 1, unsent: 2 | 50 ms | 1024 MiB | 80 * |", text)


class Percentiles(unittest.TestCase):
    """The p99.9 of 96 answers is the longest of them, and so was that of every row of the document."""

    def test_the_longest_of_all_is_none(self):
        for count, unsent, told in ((999, 0, None), (1000, 0, 12.0), (1000, 1, 12.0), (1000, 2, None), (2000, 1, 12.0), (2000, 3, None)):
            self.assertEqual(published.percentile({"count": count, "p99.9": 12.0}, "p99.9", unsent), told, (count, unsent))
        self.assertEqual(published.percentile({"count": 3, "p50": 0.1}, "p50", 0), 0.1)
        self.assertIsNone(published.percentile({}, "p50", 0))

    def test_a_ramp_that_ended_early(self):
        """Loads that were never sent, since the service had fallen, were missing from the table without a word."""
        step = {"throughput": 10.0, "latency": {}}
        with tempfile.TemporaryDirectory() as box, unittest.mock.patch.object(load, "closed", lambda *_, **__: step), unittest.mock.patch.object(load, "measure", lambda *_, **__: [step]):
            with self.assertRaisesRegex(load.Failed, "no measurement at 80 % of the capacity"):
                published.measured(SimpleNamespace(target=None), "mix", "sync", [], 2.0, 1, Path(box))


class Overload(unittest.TestCase):
    """At twice the capacity all that is measured comes after a queue without bounds is longer than the SLO.

    It began after one second at most, when such a server still answers everything in time: its goodput was its throughput.
    """

    def test_what_a_queue_without_bounds_gets(self):
        asked = {}

        def opened(_, rate, __, seconds, warmup=None):
            asked[rate] = seconds, warmup
            return {"load": {}, "latency": {}, "server": None} | dict.fromkeys(("throughput", "goodput", "steady", "successes", "unsent"), 1) | {"statuses": {}, "errors": {}}

        closed = opened(None, 0, None, 1) | {"throughput": 100.0}
        with unittest.mock.patch.multiple(load, opened=opened, closed=lambda *_: closed):
            list(compare.loads({}, None, 8, [], 3.0, lambda: 70.0))
        seconds, warmup = asked[200.0]
        self.assertGreaterEqual(seconds - warmup, 3.0)
        # What is answered at t came at t/2.
        self.assertGreater(warmup - warmup / 2, load.SLO)
        self.assertEqual([asked[rate] for rate in (50.0, 80.0, 70.0)], [(3.0, None)] * 3)


class Settled(unittest.TestCase):
    """Peers on a GPU are measured once all of their processes serve.

    Mosec was measured while seven of its eight still warmed up: 133 sounds a second, and "408 where 200 counts" for pictures. Once one
    load that got some answers was enough, it and FastAPI were asked for verdicts by processes whose first answer took 1.7 s, and were left out.
    """

    def test_loaded_until_it_bears_it(self):
        c, tries = SimpleNamespace(given=compare.GIVEN["cuda"], media="media"), []

        def closed(_, __, ___, seconds):
            tries.append(seconds)
            if len(tries) < 3:
                raise load.Failed("it answers 408 where 200 counts")
            answered = {"load": {}, "latency": {}, "server": None, "throughput": 1.0, "goodput": 1.0, "steady": True, "successes": 7, "statuses": {"200": 7}, "errors": {}, "unsent": 0}
            return answered | {3: {"statuses": {"200": 7, "503": 1}}, 4: {"errors": {"timeout": 1}}, 5: {"unsent": 1}}.get(len(tries), {})

        with unittest.mock.patch.object(load, "closed", closed):
            compare.settle(None, c)
            self.assertEqual(tries, [c.given.settle] * 6)
            tries.clear()
            with self.assertRaises(load.Failed):
                compare.settle(None, c, patience=0)
            tries.clear()
            compare.settle(None, SimpleNamespace(given=compare.GIVEN["cpu"]))
            self.assertEqual(tries, [])


class Turns(unittest.TestCase):
    """A machine that others use too was twice as fast in one minute as in another, and each server had minutes of its own."""

    def test_each_load_is_on_all_in_turn(self):
        log, awake = [], set()

        def server(name):
            running = service.Process([], "log")
            running.target, running.resume, running.pause = load.Target(name, 1), lambda: awake.add(name), lambda: awake.discard(name)
            return running

        def measure(target, what, *_, **__):
            self.assertEqual(awake, {target.url})  # nobody else has a processor
            if target.url == "Ray" and what == 100.0:
                raise load.Failed("it fell")
            log.append((target.url, what))
            return {"load": {}, "latency": {}, "server": None, "throughput": 100.0 if target.url == paper.OURS else 200.0} | dict.fromkeys(("goodput", "steady", "successes", "unsent"), 1) | {"statuses": {}, "errors": {}}

        c = SimpleNamespace(given=compare.GIVEN["cpu"], media="media", same={"mix": 70.0}, results={})
        running = {name: server(name) for name in (paper.OURS, "Gin", "Ray")}
        with unittest.mock.patch.multiple(load, opened=measure, closed=measure), unittest.mock.patch.object(machine, "rest"), unittest.mock.patch.object(compare, "say"):
            compare.Comparison._turns(c, "mix", running, 1.0)
        clients = media.clients("mix", 1)
        # The same load is a share of what the service did in this round: of a faster minute before, it was more than it could bear.
        expected = {name: (clients, 80.0, 0.5 * capacity, 0.8 * capacity, 2 * capacity) for name, capacity in ((paper.OURS, 100.0), ("Gin", 200.0))} | {"Ray": (clients, 80.0)}
        self.assertEqual(log, [(name, expected[name][i]) for i in range(5) for name in running if i < len(expected[name])])
        self.assertEqual({n: [list(r) for r in rounds] for n, rounds in c.results["mix"].items()},
                         {paper.OURS: [["capacity", "same", "half", "high", "twice"]], "Gin": [["capacity", "same", "half", "high", "twice"]], "Ray": [["error"]]})
        self.assertFalse(awake)

    def test_who_waits_is_stopped(self):
        """With its children, in whatever group of processes they are, and it ends nevertheless."""
        with (
            unittest.mock.patch.object(service, "GRACE", 600),
            tempfile.TemporaryDirectory() as box,
            service.Process(["bash", "-mc", "sleep 60 & echo $! /; wait"], Path(box) / "log") as parent,
        ):
            parent.await_(lambda: parent.log.read_text().endswith("/\n"))
            family = (parent.running.pid, int(parent.log.read_text().split()[-2]))

            def states():
                return "".join(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in family)

            parent.pause()
            parent.await_(lambda: states() == "TT")
            parent.resume()
            parent.await_(lambda: states() == "SS")
            parent.pause()
        self.assertEqual(parent.running.returncode, -signal.SIGTERM, "it was killed in the end")

    def test_the_next_waits_for_rest(self):
        """What a server has not refused it still works on after its load."""
        work = iter((0.0, 1.0, 2.0, 2.0, 9.0))
        with unittest.mock.patch.object(machine, "worked", lambda: next(work)):
            machine.rest(look=0.01)
        self.assertEqual(next(work), 9.0)


class SameLoad(unittest.TestCase):
    """A server that refuses what it cannot do answers the rest soon.

    At the same load for all, the p99 of those answers would put it ahead of one that answered everything.
    """

    def test_who_refuses_has_no_p99(self):
        told = {"p99": 0.02, "answers": 99, "statuses": {"200": 99, "503": 1}, "errors": {}, "unsent": 0}
        self.assertEqual(compare.kept_up(told)["p99"], 0.02)
        for lost in ({"statuses": {"200": 99, "503": 2}}, {"errors": {"timeout": 1}}, {"unsent": 1}):
            self.assertIsNone(compare.kept_up(told | lost)["p99"], lost)
        without = a_round() | {"same": a_round()["same"] | {"p99": None}}
        self.assertIn("| `mix` | p99 at the same load | reached |", paper.goals({"mix": {"deepfaked": [a_round()], "Gin": [without]}}))
        self.assertIn("| `mix` | p99 at the same load | not reached: ahead are Gin |", paper.goals({"mix": {"deepfaked": [a_round()], "Gin": [a_round(high=0.01)]}}))


class Plan(unittest.TestCase):
    """The time is kept, and nobody is always first."""

    def test_seconds(self):
        c = SimpleNamespace(peers=list("abcdefghi"), workloads=list("wxyz"), rounds=3, seconds=[1.5], starts=[4.0, 6.0])
        each = compare.Comparison.plan(c, 1500)
        loads = 10 * 4 * (2 + len(compare.LOADS))
        self.assertAlmostEqual(2 * (10 * (5 + compare.END) + 10 * 4 * load.DROWNED + loads * (each + compare.OVERHEAD)), 1500)
        self.assertEqual(compare.Comparison.plan(c, 10), compare.SHORTEST)

    def test_order(self):
        c = SimpleNamespace(peers=list("abc"))
        orders = [compare.Comparison.order(c, number) for number in range(3)]
        self.assertEqual(orders, [[None, "a", "b", "c"], ["c", "b", "a", None], ["b", "c", None, "a"]])

    def test_disagreement(self):
        ours = {"f": {"verdict": "real", "confidence": 0.5}}
        self.assertAlmostEqual(compare.disagreement(ours, {"f": {"verdict": "real", "confidence": 0.6}}), 0.1)
        self.assertEqual(compare.disagreement(ours, {"f": {"verdict": "fake", "confidence": 0.5}}), float("inf"))


class Peers(unittest.TestCase):
    """What is installed is pinned, and every program can be read."""

    def test_locks(self):
        for path in (HERE / "peers" / "locks").glob("*.txt"):
            for line in path.read_text().splitlines():
                self.assertRegex(line, r"^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$", path.name)
        self.assertNotRegex((HERE / "peers" / "node" / "package-lock.json").read_text(), r'"resolved"')

    def test_one_runtime(self):
        """The Python peers have the service's ONNX Runtime, from the environment that they share."""
        version = re.search(r"ort_version=(\S+)", (install.REPOSITORY / "scripts" / "setup").read_text())[1]
        for path in (HERE / "peers" / "locks").glob("*.txt"):
            runtime = [line for line in path.read_text().splitlines() if line.startswith("onnxruntime")]
            named = {"base": [f"onnxruntime=={version}"], "base-cuda": [f"onnxruntime-gpu=={version}"]}
            self.assertEqual(runtime, named.get(path.stem, []), path.name)

    def test_programs(self):
        for p in roster.PEERS:
            self.assertTrue(p.version(), p.name)
            self.assertTrue(p.kind in ("node", "go") or (HERE / "peers" / "locks" / f"{p.kind}.txt").exists(), p.name)
        for path in (HERE / "peers").glob("*.py"):
            ast.parse(path.read_text(), path.name)

    @unittest.skipUnless(shutil.which("node"), "Node.js is not installed: the syntax of server.js was not checked")
    def test_node(self):
        subprocess.run(["node", "--check", HERE / "peers" / "node" / "server.js"], check=True)


class Speech(unittest.TestCase):
    """Peers are asked as deepfaked-bench asks them."""

    def test_forms(self):
        headers, body = speak.request("multipart", "a.jpg", b"content")
        edge = headers["Content-Type"].split("boundary=")[1].encode()
        self.assertEqual(body.split(b"--" + edge)[1].split(b"\r\n\r\n")[1], b"content\r\n")
        headers, body = speak.request("kserve", "a.jpg", b"content")
        self.assertEqual(body[int(headers["Inference-Header-Content-Length"]) :], b"\x07\0\0\0content")
        self.assertIn(b"Y29udGVudA==", speak.request("kserve-json", "a.jpg", b"content")[1])

    def test_answers(self):
        self.assertEqual(speak.understood("multipart", b'{"verdict": "real"}'), {"verdict": "real"})
        self.assertEqual(speak.understood("kserve", b'{"outputs": [{"data": ["{\\"verdict\\": \\"real\\"}"]}]}'), {"verdict": "real"})


class Tools(unittest.TestCase):
    """What is missing is said."""

    def test_no_program(self):
        was, load.PROGRAM = load.PROGRAM, "false"
        try:
            with self.assertRaises(load.Failed):
                load.closed(load.Target("http://127.0.0.1:1", 1), 1, [], 1)
        finally:
            load.PROGRAM = was

    def test_workloads(self):
        for name, (_, folders, _) in media.WORKLOADS.items():
            self.assertEqual(len(media.arguments(name, "x")), len(folders) + (2 if name == "mix" else 0))


class Scripts(unittest.TestCase):
    """Whoever has not built yet could not be told what the scripts do: --help, too, said that bin/deepfaked was missing."""

    def test_help_comes_first(self):
        root = Path(__file__).parents[2]
        with tempfile.TemporaryDirectory() as box:
            shutil.copytree(root / "scripts" / "bench", Path(box, "scripts", "bench"))
            for name in ("benchmark", "benchmark-peers"):
                script = shutil.copy(root / "scripts" / name, Path(box, "scripts", name))

                def told(*arguments, script=script):
                    return subprocess.run([script, *arguments], capture_output=True, text=True, check=False)

                self.assertIn(f"usage: scripts/{name}", told("--help").stdout)
                refused = told("--media", box)
                self.assertEqual(refused.returncode, 1)
                self.assertEqual(refused.stderr, f"{name}: bin/deepfaked is missing: run make build\n")
