package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// noService stands in for the package requests: it gives prepared answers and waits for nothing.
const noService = `
import json, time
time.sleep = lambda s: print("waited", s)
class Answer:
    def __init__(self, status_code, text, **headers):
        self.status_code, self.text = status_code, text
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()}
    def json(self):
        return json.loads(self.text)
polls = [
    Answer(429, '{"error": "rate_limited", "message": "m", "retry_after": 7}', Retry_After="7"),
    Answer(500, '{"error": "internal_error", "message": "m"}'),
    Answer(502, '<html>a proxy says so</html>'),
    Answer(200, '{"status": "processing", "poll_url": "/v1/results/det_x"}', Retry_After="3"),
    Answer(200, '{"status": "complete", "verdict": "real", "confidence": 0.5}'),
]
def post(url, **named):
    return Answer(202, '{"status": "processing", "poll_url": "/v1/results/det_x"}', Retry_After="1")
def get(url, **named):
    assert url.endswith("/v1/results/det_x"), url
    return polls.pop(0)
`

// The example of docs/api.md gave a job up, whose result was there a moment later, where one
// question about it was answered 500, as while the database is away, or by a proxy.
func TestTheExampleInPythonAsksAgain(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not there")
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("docs/api.md has no example in Python")
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"requests.py": []byte(noService), "example.py": example[1], "clip.mp4": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "example.py")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "KEY=k")
	const want = "waited 1\nwaited 7\nwaited 5\nwaited 5\nwaited 3\nreal 0.5\n"
	if said, err := cmd.CombinedOutput(); err != nil || string(said) != want {
		t.Errorf("%v, said:\n%s", err, said)
	}
}
