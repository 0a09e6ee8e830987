// A page in headless Chromium that may ask for nothing but itself, and what is on its canvases.
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const skipped = 77;
export const registry = "npm's registry in reach when CMake configures";
export const patience = 120_000; // ms; a busy machine starts a browser slowly

/** Ends the test, with the line that tools/list_skipped collects. */
export function skip(why, enable) {
  console.log(`skipped: ${why}; enable: ${enable}`);
  process.exit(skipped);
}

function findChromium() {
  try {
    return process.env.CHROMIUM || execFileSync('sh', ['-c', 'command -v chromium']).toString().trim();
  } catch {
    return skip('chromium is not installed', 'tools/setup --tests');
  }
}

/** Notes of what went wrong; the test goes on. */
export class Faults {
  constructor() {
    this.list = [];
  }
  expect(good, text) {
    if (!good) this.list.push(text);
  }
  near(value, wanted, tolerance, text) {
    this.expect(Math.abs(value - wanted) <= tolerance, `${text}: ${value} instead of ${wanted}`);
  }
}

/** The browser, in its sandbox: root alone gets none. */
export async function launch() {
  const { chromium } = await import('playwright-core').catch(() => skip('node_modules has no playwright-core', registry));
  const browser = chromium.launch({
    executablePath: findChromium(),
    timeout: patience,
    chromiumSandbox: process.getuid() !== 0,
    args: ['--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  return browser.catch((error) => {
    if (!/sandboxing failed/.test(error.message)) throw error;
    return skip('chromium gets no sandbox here', 'apt-get install chromium-sandbox, or user namespaces for all');
  });
}

/** Opens a file; what it says on the console, and whatever it asks for beside itself, is a fault. */
export async function open(browser, file, faults, colorScheme = 'light') {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const address = pathToFileURL(file).href;
  await context.route('**', (route) => (route.request().url().split('#')[0] === address ? route.continue() : route.abort()));
  page.on('request', (request) => {
    const url = request.url();
    faults.expect(url.split('#')[0] === address || url.startsWith('data:'), `the page asks for ${url}`);
  });
  page.on('console', (message) => {
    const ours = /getImageData/.test(message.text()); // a hint to this test, which reads pixels
    faults.expect(ours || !['error', 'warning'].includes(message.type()), `console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.expect(false, `page error: ${error.stack}`));
  page.on('dialog', (dialog) => { faults.expect(false, `dialog: ${dialog.message()}`); dialog.dismiss(); });
  const began = performance.now();
  await page.goto(address);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  await settled(page);
  return { page, opened: performance.now() - began };
}

/** After what was asked for has been drawn. */
export const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

export const payload = (page) => page.evaluate(() => JSON.parse(document.getElementById('payload').textContent));

/** Pixels of a canvas (the nth below a selector): colours as #rrggbb with their counts, and a digest of all. */
export const colours = (page, selector, nth = 0) => page.evaluate(([of, n]) => {
  const found = [...document.querySelectorAll(of)].flatMap((e) => (e.tagName === 'CANVAS' ? [e] : [...e.querySelectorAll('canvas')]))[n];
  if (!found) return null;
  const { data, width, height } = found.getContext('2d').getImageData(0, 0, found.width, found.height);
  const counts = {};
  let digest = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] === 0) continue;
    const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
    counts[colour] = (counts[colour] || 0) + 1;
    digest = (Math.imul(digest, 31) + colour + i) | 0;
  }
  const named = {};
  for (const [colour, count] of Object.entries(counts)) named[`#${Number(colour).toString(16).padStart(6, '0')}`] = count;
  return { counts: named, digest, pixels: width * height };
}, [selector, nth]);

/** Share of each colour in the row of a canvas that has most of `colour`. */
export const rowOf = (page, selector, colour) => page.evaluate(([of, wanted]) => {
  const canvas = document.querySelector(`${of} canvas`);
  const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const at = (x, y) => `#${((data[4 * (y * width + x)] << 16) | (data[4 * (y * width + x) + 1] << 8) | data[4 * (y * width + x) + 2]).toString(16).padStart(6, '0')}`;
  let best = { n: -1, y: 0 };
  for (let y = 0; y < height; ++y) {
    let n = 0;
    for (let x = 0; x < width; ++x) n += at(x, y) === wanted ? 1 : 0;
    if (n > best.n) best = { n, y };
  }
  const counts = {};
  for (let x = 0; x < width; ++x) if (data[4 * (best.y * width + x) + 3]) counts[at(x, best.y)] = (counts[at(x, best.y)] || 0) + 1;
  return counts;
}, [selector, colour]);
