// Fastify and onnxruntime-node: one run of each model for each request, in as many
// processes as PEER_WORKERS says. What a request takes is written down in work.py.
import cluster from "node:cluster";
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// The modules lie where the script installed them, not beside this file.
const require = createRequire(join(process.env.PEER_MODULES, "package.json"));
const ort = require("onnxruntime-node");
const sharp = require("sharp");
const fastify = require("fastify");
const multipart = require("@fastify/multipart");

const SIDE = 1280;
const RATE = 16000;
const BACKDROP = 128;
const SMALLEST_FACE = 80;
const MODELS = process.env.PEER_MODELS;
const WORKERS = Number(process.env.PEER_WORKERS ?? 1);
const ROWS = JSON.parse(process.env.PEER_ROWS ?? "{}");
const QUEUE = Number(process.env.PEER_QUEUE ?? 64);
const PORT = Number(process.env.PEER_PORT ?? 8000);
const OVERFLOWS = !readFileSync("/proc/cpuinfo").includes("_vnni"); // as in work.py

async function load() {
  const models = { fusion: JSON.parse(readFileSync(join(MODELS, "fusion.json"))) };
  for (const name of readdirSync(MODELS)) {
    const path = join(MODELS, name, "card.json");
    if (!existsSync(path)) continue;
    const card = JSON.parse(readFileSync(path));
    const session = await ort.InferenceSession.create(join(MODELS, name, (card.variants?.[0] ?? card).file), {
      executionProviders: ["cpu"],
      intraOpNumThreads: Number(process.env.PEER_THREADS ?? 1),
      interOpNumThreads: 1,
      enableMemPattern: false,
      extra: {
        session: { intra_op: { allow_spinning: "0" }, inter_op: { allow_spinning: "0" }, ...(OVERFLOWS && { x64quantprecision: "1" }) },
      },
    });
    models[card.task] = { card, session };
  }
  return models;
}

async function run({ card, session }, data, rows) {
  const { name, type, shape } = card.input;
  const [most, each, outputs] = [ROWS[card.task] ?? rows, data.length / rows, []];
  for (let i = 0; i < rows; i += most) {
    const n = Math.min(most, rows - i);
    const out = await session.run({ [name]: new ort.Tensor(type, data.subarray(i * each, (i + n) * each), [n, ...shape.slice(1)]) });
    outputs.push(...out[card.output.name].data);
  }
  return outputs;
}

function tileGrid(width, height, side, most) {
  let [columns, rows] = [1, 1];
  for (;;) {
    const wider = columns < Math.ceil(width / side) && (columns + 1) * rows <= most;
    const taller = rows < Math.ceil(height / side) && columns * (rows + 1) <= most;
    if (wider && (width * rows >= height * columns || !taller)) columns++;
    else if (taller) rows++;
    else return [columns, rows];
  }
}

const start = (room, i, n) => (n === 1 ? Math.floor(room / 2) : Math.floor((room * i) / (n - 1)));

function tiles(pixels, width, height, side, most) {
  if (Math.min(width, height) < side) throw new Error(`a picture below ${side} pixels`);
  const [columns, rows] = tileGrid(width, height, side, most);
  const out = Buffer.allocUnsafe(columns * rows * side * side * 3);
  let to = 0;
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const [x, y] = [start(width - side, c, columns), start(height - side, r, rows)];
      for (let line = 0; line < side; line++) {
        const from = ((y + line) * width + x) * 3;
        pixels.copy(out, to, from, from + side * 3);
        to += side * 3;
      }
    }
  }
  return [out, columns * rows];
}

// reduced writes means of blocks of by×by to out, whose rows are of side pixels: the w×h of them from left, top.
function reduced(pixels, width, by, left, top, w, h, out, side) {
  const half = (by * by) >> 1;
  for (let y = 0; y < h; y++) {
    for (let x = 0; x < w; x++) {
      let [r, g, b] = [half, half, half];
      for (let j = 0; j < by; j++) {
        let at = (((top + y) * by + j) * width + (left + x) * by) * 3;
        for (let i = 0; i < by; i++, at += 3) {
          r += pixels[at];
          g += pixels[at + 1];
          b += pixels[at + 2];
        }
      }
      const to = (y * side + x) * 3;
      out[to] = r / (by * by);
      out[to + 1] = g / (by * by);
      out[to + 2] = b / (by * by);
    }
  }
  return out;
}

// view is the whole picture on a backdrop.
function view(pixels, width, height, side) {
  const by = Math.max(1, Math.ceil(Math.max(width, height) / side));
  const [w, h] = [Math.floor(width / by), Math.floor(height / by)];
  return reduced(pixels, width, by, 0, 0, w, h, Buffer.alloc(side * side * 3, BACKDROP), side);
}

// overview is the middle of a picture whose shorter side is brought near side; null for a small one.
function overview(pixels, width, height, side) {
  const by = Math.floor((2 * Math.min(width, height) + side) / (2 * side));
  if (by < 2) return null;
  const [x, y] = [width, height].map((v) => Math.floor((Math.floor(v / by) - side) / 2));
  if (Math.min(x, y) < 0) throw new Error("a picture whose overview has to be reflected");
  return reduced(pixels, width, by, x, y, side, side, Buffer.allocUnsafe(side * side * 3), side);
}

const mean = (values) => values.reduce((sum, v) => sum + Number(v), 0) / values.length;
const calibrated = (card, pooled, side = Infinity) => {
  const { scale, bias } = at(card.calibration, side);
  return scale * pooled + bias;
};

// at is the calibration of a picture whose shorter side has so many pixels.
function at(calibration, side) {
  const sizes = calibration.sizes ?? [];
  const i = sizes.findIndex((s) => side <= s.side);
  if (i < 1) return i < 0 ? calibration : sizes[0];
  const [low, high] = [sizes[i - 1], sizes[i]];
  const share = Math.log(side / low.side) / Math.log(high.side / low.side);
  return { scale: (1 - share) * low.scale + share * high.scale, bias: (1 - share) * low.bias + share * high.bias };
}

function told(kind, logOdds, limits, card) {
  const points = card.operating_points_by_medium?.[kind] ?? card.operating_points;
  const { threshold } = points.balanced;
  const p = 1 / (1 + Math.exp(-Math.min(Math.max(logOdds, limits[0]), limits[1])));
  const fake = logOdds >= Math.log(threshold / (1 - threshold));
  return { verdict: fake ? "fake" : "real", confidence: fake ? p : 1 - p, probability_fake: p, media_type: kind };
}

function refuseFaces(card, boxes) {
  const sure = Math.log(card.detection.threshold / (1 - card.detection.threshold));
  for (let i = 0; i + 5 <= boxes.length; i += 5) {
    const longer = 2 * Math.max(boxes[i + 3] - boxes[i + 1], boxes[i + 4] - boxes[i + 2]);
    if (boxes[i] >= sure && longer >= SMALLEST_FACE) throw new Error("the picture shows a face, which only deepfaked judges");
  }
}

async function picture(models, content) {
  const { data, info } = await sharp(content, { failOn: "error" }).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  if (Math.max(info.width, info.height) > SIDE) throw new Error(`not a picture of at most ${SIDE} pixels`);
  const [judge, finder] = [models["image-synthesis"], models["face-detection"]];
  const side = judge.card.input.shape[1];
  const [rows, n] = tiles(data, info.width, info.height, side, judge.card.preprocessing.tiles);
  const extra = judge.card.preprocessing.overview && overview(data, info.width, info.height, side);
  const whole = view(data, info.width, info.height, finder.card.input.shape[1]);
  const [logits, boxes] = await Promise.all([
    run(judge, extra ? Buffer.concat([rows, extra]) : rows, extra ? n + 1 : n),
    run(finder, whole, 1),
  ]);
  refuseFaces(finder.card, boxes);
  const { alone } = models.fusion;
  const logOdds = calibrated(judge.card, extra ? (mean(logits.slice(0, n)) + Number(logits[n])) / 2 : mean(logits), Math.min(info.width, info.height));
  return told("image", alone.scale * logOdds + alone.bias, alone.limits, models.fusion);
}

// samples are those of a plain WAV file.
function samples(content) {
  let form;
  for (let at = 12; at + 8 <= content.length; ) {
    const [name, size] = [content.toString("latin1", at, at + 4), content.readUInt32LE(at + 4)];
    at += 8;
    if (name === "fmt ") form = [content.readUInt16LE(at), content.readUInt16LE(at + 2), content.readUInt32LE(at + 4), content.readUInt16LE(at + 14)];
    if (name === "data") {
      if (`${form}` !== `1,1,${RATE},16`) throw new Error("not a WAV file of 16 kHz, one channel and 16 bits");
      const n = Math.min(size, content.length - at) >> 1;
      const out = new Float32Array(n);
      for (let i = 0; i < n; i++) out[i] = content.readInt16LE(at + 2 * i) / 32768;
      return out;
    }
    at += size + (size % 2);
  }
  throw new Error("a WAV file without samples");
}

async function sound(models, content) {
  const { card } = models["speech-synthesis"];
  const size = card.preprocessing.window_samples;
  const heard = samples(content);
  const n = Math.min(16, Math.floor((heard.length + size / 2) / size));
  if (n < 2) throw new Error("a sound that is shorter than two windows");
  const rows = new Float32Array(n * size);
  for (let i = 0; i < n; i++) {
    const from = Math.floor((i * (heard.length - size)) / (n - 1));
    rows.set(heard.subarray(from, from + size), i * size);
  }
  return told("audio", calibrated(card, mean(await run(models["speech-synthesis"], rows, n))), card.calibration.limits, card);
}

async function serve() {
  const models = await load();
  sharp.concurrency(1);
  const app = fastify({ bodyLimit: 16 << 20 });
  await app.register(multipart, { limits: { fileSize: 16 << 20 } });
  let busy = 0;
  app.post("/predict", async (request, reply) => {
    if (busy >= QUEUE / WORKERS) return reply.code(503).send({ error: "busy" });
    busy++;
    try {
      const content = await (await request.file()).toBuffer();
      return await (content.toString("latin1", 0, 4) === "RIFF" ? sound(models, content) : picture(models, content));
    } finally {
      busy--;
    }
  });
  await app.listen({ host: "127.0.0.1", port: PORT });
}

if (cluster.isPrimary && WORKERS > 1) {
  for (let i = 0; i < WORKERS; i++) cluster.fork();
} else {
  await serve();
}
