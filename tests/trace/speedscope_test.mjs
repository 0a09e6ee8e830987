// Opens a merged trace in speedscope, in headless Chromium, and looks at what it shows.
// usage: speedscope_test.mjs TRACE SCREENSHOT.png     exit status: 0 good, 1 bad, 77 where a part is missing
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';
import { launch, patience, registry, skip } from '../page/browser.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const viewer = path.join(root, 'node_modules/speedscope/dist/release');
// The lanes of a trace as speedscope makes profiles of them: one for each (pid, tid) that has slices.
function lanes(trace) {
  const raw = fs.readFileSync(trace);
  const { traceEvents } = JSON.parse(trace.endsWith('.gz') ? zlib.gunzipSync(raw) : raw);
  const slices = traceEvents.filter((e) => e.ph === 'X');
  const names = new Map();
  for (const e of traceEvents.filter((m) => m.ph === 'M')) {
    if (e.name === 'process_name') names.set(`${e.pid}`, e.args.name);
    if (e.name === 'thread_name') names.set(`${e.pid}:${e.tid}`, e.args.name);
  }
  const keys = [...new Set(slices.map((e) => `${e.pid}:${e.tid}`))];
  keys.sort((a, b) => a.split(':')[0] - b.split(':')[0] || a.split(':')[1] - b.split(':')[1]);
  return { count: keys.length, process: names.get(keys[0].split(':')[0]), thread: names.get(keys[0]) };
}

function serve(folder) {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, 'http://x').pathname).slice(1) || 'index.html';
    const file = path.join(folder, path.normalize(`/${name}`));
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) {
      response.statusCode = 404;
      return response.end();
    }
    response.setHeader('content-type', types[path.extname(file)] || 'application/octet-stream');
    return response.end(fs.readFileSync(file));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function load(page, address, trace) {
  const said = [];
  page.on('pageerror', (e) => said.push(`page error: ${e.message}`));
  page.on('dialog', (d) => { said.push(`alert: ${d.message()}`); d.dismiss(); });
  page.on('console', (m) => { if (m.type() === 'error') said.push(`console: ${m.text()}`); });
  await page.goto(address);
  await page.waitForSelector('input[type=file]', { state: 'attached' });
  await page.setInputFiles('input[type=file]', trace);
  const shows = () => page.evaluate(() => document.body.innerText.replace(/\s+/g, ' '));
  for (let i = 0; i < 300; ++i) {
    await page.waitForTimeout(100);
    if (said.length > 0 || /Time Order|unrecognized|Something went wrong/i.test(await shows())) break;
  }
  await page.waitForTimeout(500); // for the first frame to be drawn
  return { said, text: await shows() };
}

function verdict({ said, text }, expected) {
  // A missing picture of the page's own is no fault of the trace's.
  const faults = said.filter((line) => !/favicon|WebGL|GPU stall|GroupMarker|swiftshader|404/i.test(line));
  if (!/Time Order/.test(text) || /Something went wrong|unrecognized/i.test(text)) faults.push(`not loaded: ${text.slice(0, 200)}`);
  // The picker in the toolbar: "NAME (1/4)".
  const picker = text.match(/\((\d+)\/(\d+)\)/);
  const profiles = picker ? Number(picker[2]) : 1;
  if (profiles !== expected.count) faults.push(`${profiles} profiles instead of ${expected.count}`);
  for (const name of [expected.process, expected.thread])
    if (!text.includes(name)) faults.push(`"${name}" is not shown`);
  return { faults, profiles };
}

const [trace, screenshot] = process.argv.slice(2);
if (!trace || !screenshot) {
  console.error('usage: speedscope_test.mjs TRACE SCREENSHOT.png');
  process.exit(2);
}
if (!fs.existsSync(viewer)) skip('node_modules has no speedscope', registry);
const expected = lanes(trace);
const server = await serve(viewer);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1400, height: 700 } });
page.setDefaultTimeout(patience);
const seen = await load(page, `http://127.0.0.1:${server.address().port}/`, trace);
await page.screenshot({ path: screenshot });
await browser.close();
server.close();
const { faults, profiles } = verdict(seen, expected);
for (const fault of faults) console.log(`fault: ${fault}`);
console.log(`${path.basename(trace)}: ${profiles} profiles, ${faults.length} faults; screenshot ${screenshot}`);
process.exit(faults.length > 0 ? 1 : 0);
