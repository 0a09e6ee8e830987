// Opens a page in headless Chromium and looks at what it shows, against its own payload.
// usage: page_test.mjs run|comparison|sweep|hostile PAGE.html     exit status: 0 good, 1 bad, 77 where a part is missing
import os from 'node:os';
import path from 'node:path';
import { colours, Faults, launch, open, payload, rowOf, settled } from './browser.mjs';

const blue = '#0072b2', green = '#009e73', vermillion = '#d55e00';
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const text = (page, selector) => page.evaluate((s) => document.querySelector(s).innerText, selector);
const isDark = (rgb) => rgb.match(/\d+/g).slice(0, 3).every((x) => Number(x) < 60);

async function drawn(page, faults, selector, wanted) {
  const { counts } = await colours(page, selector);
  for (const colour of wanted) faults.expect((counts[colour] || 0) > 50, `${selector}: ${counts[colour] || 0} pixels of ${colour}`);
}

const view = (page) => page.evaluate(() => {
  const { from, to, left, width, top, pitch } = document.getElementById('timeline-canvas').dataset;
  return { from: +from, to: +to, left: +left, width: +width, top: +top, pitch: +pitch };
});

/** Where the middle of a run of the timeline stands on the screen, near its upper edge, clear of its label. */
async function placeOf(page, stage, spans, i) {
  const box = await page.locator('#timeline-canvas').boundingBox(), v = await view(page);
  const middle = spans.start_ns[i] + spans.length_ns[i] / 2;
  return { x: box.x + v.left + (middle - v.from) / (v.to - v.from) * v.width, y: box.y + v.top + stage * v.pitch + 3 };
}

async function timeline(page, faults, data) {
  const canvas = page.locator('#timeline-canvas');
  await canvas.scrollIntoViewIfNeeded();
  const all = await colours(page, '#timeline-canvas'), memory = await colours(page, '#memory-over-time'), whole = await view(page);
  await canvas.focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press('+');
  await settled(page);
  const near = await view(page);
  faults.near((near.to - near.from) / (whole.to - whole.from), 1 / 8, 1e-6, 'three steps of zoom');
  faults.expect((await colours(page, '#timeline-canvas')).digest !== all.digest, 'zooming changes nothing on the timeline');
  faults.expect((await colours(page, '#memory-over-time')).digest !== memory.digest, 'the memory over time does not follow the timeline');

  // An action in the middle of what is shown: its colour under the pointer, its numbers beside it.
  const stage = 3, spans = data.timeline.stages[stage].runs;
  const i = spans.start_ns.findIndex((t, k) => t > near.from + (near.to - near.from) / 2 && spans.kind[k] === 'B');
  const at = await placeOf(page, stage, spans, i);
  await page.mouse.move(at.x, at.y);
  const shown = await text(page, '#tip');
  const value = (label) => shown.split('\n').map((s) => s.trim())[shown.split('\n').findIndex((s) => s.trim() === label) + 1];
  faults.expect(shown.startsWith('backward'), `the tooltip says "${shown}"`);
  faults.expect(value('stage') === `${stage}` && value('micro-batch') === `${spans.micro[i]}` && value('chunk') === `${spans.chunk[i]}`, `the tooltip names "${shown}"`);
  faults.near(parseFloat(value('start')), spans.start_ns[i] * 1e-9, 1e-4, 'start in the tooltip, s');
  faults.near(parseFloat(value('duration')), spans.length_ns[i] * 1e-6, 0.1, 'duration in the tooltip, ms');
  const pixel = await page.evaluate(([x, y]) => {
    const c = document.getElementById('timeline-canvas'), box = c.getBoundingClientRect(), scale = c.width / box.width;
    return [...c.getContext('2d').getImageData((x - box.x) * scale, (y - box.y) * scale, 1, 1).data];
  }, [at.x, at.y]);
  faults.expect(`${pixel.slice(0, 3)}` === '0,158,115', `a backward has the colour ${pixel}`);

  // Dragging shows what was dragged over, a double click all.
  const box = await canvas.boundingBox(), y = box.y + 40;
  await page.mouse.move(box.x + near.left + 100, y);
  await page.mouse.down();
  await page.mouse.move(box.x + near.left + 300, y, { steps: 3 });
  await page.mouse.up();
  const dragged = await view(page), scale = (near.to - near.from) / near.width;
  faults.near(dragged.from, near.from + 100 * scale, 2 * scale, 'start of what was dragged over');
  faults.near(dragged.to, near.from + 300 * scale, 2 * scale, 'end of what was dragged over');
  await canvas.dblclick({ position: { x: 400, y: 60 } });
  await settled(page);
  faults.near((await view(page)).to, whole.to, 1, 'double click');
  faults.expect((await colours(page, '#timeline-canvas')).digest === all.digest, 'zooming out does not lead back');
}

/** The tooltip of memory over time against the samples. */
async function memoryTip(page, faults, data) {
  const box = await page.locator('#memory-over-time').boundingBox();
  await page.locator('#memory-over-time').scrollIntoViewIfNeeded();
  const seen = await page.locator('#memory-over-time').boundingBox();
  await page.mouse.move(seen.x + box.width / 2, seen.y + box.height / 2);
  await page.waitForTimeout(200);
  const lines = (await text(page, '#memory-over-time')).split('\n').map((s) => s.trim()).filter(Boolean);
  const time = parseFloat((lines[0] || '').replace('at ', '')), at = lines.findIndex((s) => s === 'stage 0');
  const over = data.memory_over_time[0], parts = data.report.memory.stages[0].parts;
  const still = Object.entries(parts).filter(([key]) => !['activations', 'logits'].includes(key)).reduce((sum, [, b]) => sum + b, 0);
  const last = over.time_ns.filter((t) => t * 1e-9 <= time + 5e-4).length - 1; // the time is shown in ms
  const near = [last - 1, last].map((i) => (still + over.activations[i] + over.logits[i]) / 2 ** 30);
  faults.expect(at > 0 && near.some((g) => Math.abs(g - parseFloat(lines[at + 1])) < 0.006), `memory at ${time} s: "${lines.slice(0, 12)}", samples ${near}`);
}

async function testRun(browser, file, faults) {
  const { page } = await open(browser, file, faults);
  const [data] = (await payload(page)).runs, r = data.report;
  const summary = await text(page, '#summary');
  for (const wanted of [r.step_time_s.toFixed(2), (100 * r.mfu).toFixed(1), (r.memory.peak_bytes / 2 ** 30).toFixed(2), 'fits'])
    faults.expect(summary.includes(wanted), `the summary lacks ${wanted}: ${summary}`);
  await drawn(page, faults, '#account', [blue, '#56b4e9', vermillion]);
  await drawn(page, faults, '#timeline', [blue, green]);
  await drawn(page, faults, '#memory', [blue, '#e69f00', '#f0e442']);
  const bar = await rowOf(page, '#account', blue), parts = [blue, '#56b4e9', vermillion, '#e69f00', '#cc79a7', '#9aa0a6', '#f0e442'];
  const wide = parts.reduce((sum, colour) => sum + (bar[colour] || 0), 0);
  faults.near(bar[blue] / wide, r.account_s.compute / r.step_time_s, 0.01, 'compute in the bar of the step');
  faults.near(bar[vermillion] / wide, r.account_s.exposed_tp / r.step_time_s, 0.01, 'exposed TP in the bar of the step');
  await timeline(page, faults, data);
  await memoryTip(page, faults, data);
  const rows = await page.locator('#ledger tbody tr').count();
  faults.expect(rows === r.ledger.length, `${rows} rows of the ledger instead of ${r.ledger.length}`);
  const guesses = r.provenance.constants.filter((c) => c.basis === 'guess').map((c) => c.name);
  const rests = await text(page, '#provenance');
  faults.expect(guesses.every((name) => rests.includes(name)), 'a guess is not named');
  faults.expect(/the step, by what it rests on\s*[0-9.]+\s*% \w+/i.test(rests), 'the step is not parted by what it rests on');

  const light = await background(page), canvas = await colours(page, '#timeline-canvas');
  await page.emulateMedia({ colorScheme: 'dark' });
  await settled(page);
  faults.expect(!isDark(light) && isDark(await background(page)), 'the page does not turn dark with the system');
  faults.expect((await colours(page, '#timeline-canvas')).digest !== canvas.digest, 'the timeline does not turn dark');
  await page.screenshot({ path: file.replace(/html$/, 'dark.png'), fullPage: true });
  await page.click('#theme');
  await settled(page);
  faults.expect((await background(page)) === light, 'the button does not turn the page light');
  await page.click('#theme');
  const printed = await page.pdf({ path: file.replace(/html$/, 'pdf'), preferCSSPageSize: true });
  faults.expect(printed.length > 50_000, `a printed page of ${printed.length} bytes`);
  await page.click('#theme');
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: file.replace(/html$/, 'light.png'), fullPage: true });
}

async function testComparison(browser, file, faults) {
  const { page } = await open(browser, file, faults);
  const { runs } = await payload(page);
  const change = 100 * (runs[1].report.step_time_s / runs[0].report.step_time_s - 1);
  const summary = await text(page, '#summary');
  faults.expect(summary.includes(`${change > 0 ? '+' : '−'}${Math.abs(change).toFixed(1)} %`), `the summary lacks a change of ${change} %: ${summary}`);
  await drawn(page, faults, '#account', [blue, vermillion]);
  await drawn(page, faults, '#sensitivity', [blue, vermillion]);
  faults.expect((await text(page, '#account')).includes('change'), 'the account has no differences');
  faults.expect((await page.locator('#timeline-canvas').count()) === 1, 'the run of a scenario has no timeline');
  faults.expect((await text(page, '#provenance')).includes('mean of families 8.0 %'), 'the error of the model is not told');
  await page.selectOption('#detail select', '1');
  await settled(page);
  faults.expect((await page.locator('#timeline-canvas').count()) === 0 && /not in this result/.test(await text(page, '#timeline')), 'a run from JSON must say that it has no timeline');
  await drawn(page, faults, '#memory', [blue]);
  await page.screenshot({ path: file.replace(/html$/, 'png'), fullPage: true });
}

const hostile = '</script><script>document.title=\'taken\'</script>"\'&<img src=x onerror=alert(1)> \u6b69 {a|b}';

async function testHostile(browser, file, faults) {
  const { page } = await open(browser, file, faults);
  const seen = await page.evaluate(() => ({ title: document.title, h1: document.querySelector('h1').textContent, scripts: document.scripts.length, images: document.images.length }));
  faults.expect(seen.h1 === hostile, `the title is shown as ${seen.h1}`);
  faults.expect(seen.title.startsWith(hostile), `the title became ${seen.title}`);
  faults.expect(seen.scripts === 2 && seen.images === 0, `${seen.scripts} scripts, ${seen.images} images`);
  await page.click('tr[data-row="0"]');
  const cells = await page.evaluate(() => [...document.querySelectorAll('tr[data-row="0"] td')].map((td) => td.textContent));
  faults.expect(cells.includes(hostile), `the row shows ${cells}`);
  faults.expect((await text(page, '.detail pre')).includes(hostile), 'the layout is not shown as text');
}

/** The figures of a sweep's payload by row. */
function columns(sweep) {
  const setting = (name) => { const c = sweep.settings.find((s) => s.name === name); return (row) => c.values[c.at[row]]; };
  const figure = (name) => { const c = sweep.figures.find((f) => f.name === name); return (row) => c.numbers[row]; };
  return { setting, figure, rows: [...Array(sweep.rows).keys()] };
}

async function filterTo(page, words) {
  await page.fill('#filter', words);
  await page.waitForTimeout(250); // the scatter follows when typing pauses
  await settled(page);
  return Number((await text(page, '.found')).split(' of ')[0].replace(/,/g, ''));
}
const firstRow = (page) => page.evaluate(() => Number(document.querySelector('tr[data-row]').dataset.row));

async function sweepTable(page, faults, { setting, figure, rows }) {
  const tp = setting('layout.tp'), zero = setting('layout.zero'), recompute = setting('recompute'), step = figure('step_time_s'), peak = figure('memory.peak_bytes');
  const known = (row) => step(row) !== null;
  const cases = [
    ['tp=8 zero=1', (row) => tp(row) === '8' && zero(row) === '1'],
    ['tp>=4 step<25', (row) => Number(tp(row)) >= 4 && known(row) && step(row) < 25],
    ['peak<40 recompute=full', (row) => peak(row) !== null && peak(row) / 2 ** 30 < 40 && recompute(row) === 'full'],
    ['gpipe', (row) => setting('schedule')(row) === 'gpipe'],
    ['', () => true],
  ];
  for (const [words, passes] of cases)
    faults.near(await filterTo(page, words), rows.filter(passes).length, 0, `filter "${words}"`);
  await page.fill('#filter', 'nonsense=1');
  faults.expect((await text(page, '.problem')).includes('nonsense'), 'an unknown column is not told');
  await filterTo(page, '');

  const byStep = rows.filter(known).sort((a, b) => step(a) - step(b));
  faults.expect((await firstRow(page)) === byStep[0], `first by step: ${await firstRow(page)} instead of ${byStep[0]}`);
  await page.click('.layouts th[title="step_time_s"] button');
  faults.expect(step(await firstRow(page)) === step(byStep[byStep.length - 1]), 'sorting the other way round');
  await page.click('.layouts th[title="memory.peak_bytes"] button');
  faults.expect(peak(await firstRow(page)) === Math.min(...rows.map(peak).filter((x) => x !== null)), 'sorting by peak');
  faults.expect((await page.locator('tr[data-row]').count()) < 100, 'rows out of sight exist');
  await page.evaluate(() => { document.querySelector('.virtual').scrollTop = 1e9; });
  await settled(page);
  const last = await page.evaluate(() => Number([...document.querySelectorAll('tr[data-row]')].pop().dataset.row));
  faults.expect(peak(last) === null, 'what is not known does not come last');
}

/** The leftmost pixel of the front is its fastest layout's: hovering names it, a click leads to its row. */
async function sweepScatter(page, faults, { setting, figure, rows }) {
  const step = figure('step_time_s'), fastest = rows.filter((row) => step(row) !== null).sort((a, b) => step(a) - step(b))[0];
  await page.evaluate(() => scrollTo(0, 0));
  const spot = await page.evaluate(() => {
    const canvas = document.querySelector('#scatter canvas'), box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const from = Math.round(60 * scale); // below the legend
    for (let x = 0; x < width; ++x)
      for (let y = from; y < height; ++y)
        if (data[4 * (y * width + x)] === 0xd5 && data[4 * (y * width + x) + 1] === 0x5e && data[4 * (y * width + x) + 2] === 0) return [box.x + x / scale + 3, box.y + y / scale];
    return null;
  });
  faults.expect(spot, 'no front is drawn');
  if (!spot) return;
  const before = await colours(page, '#scatter');
  await page.mouse.move(...spot);
  await page.waitForTimeout(300);
  const tip = await text(page, '#scatter');
  faults.expect(tip.includes(`layout ${fastest + 1}`) && tip.includes(setting('schedule')(fastest)), `the tooltip of layout ${fastest + 1} says "${tip}"`);
  await page.mouse.click(...spot);
  await settled(page);
  const chosen = await page.evaluate(() => [...document.querySelectorAll('tr.chosen')].map((tr) => Number(tr.dataset.row)));
  faults.expect(chosen.length === 1 && chosen[0] === fastest, `a click on layout ${fastest} chose ${chosen}`);
  faults.expect((await text(page, '.detail')).includes(`--set layout.tp=${setting('layout.tp')(fastest)}`), 'the chosen layout is not described');
  faults.expect((await colours(page, '#scatter')).digest !== before.digest, 'the chosen point is not marked');
}

/** Longest of the keystrokes of a filter, to the frame that shows the rows, ms; the best of three tries. */
const keystroke = (page) => page.evaluate(async () => {
  const input = document.getElementById('filter'), word = 'tp>=4 step<25';
  const tries = [];
  for (let n = 0; n < 3; ++n) {
    let longest = 0;
    for (let i = 1; i <= word.length; ++i) {
      const began = performance.now();
      input.value = word.slice(0, i);
      input.dispatchEvent(new Event('input'));
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      longest = Math.max(longest, performance.now() - began);
    }
    tries.push(longest);
  }
  return Math.min(...tries);
});

async function testSweep(browser, file, faults) {
  const times = [];
  let page;
  for (let i = 0; i < 3; ++i) {
    if (page) await page.context().close();
    const next = await open(browser, file, faults);
    times.push(next.opened);
    ({ page } = next);
  }
  const [sweep] = (await payload(page)).sweeps, made = columns(sweep);
  const opened = Math.min(...times), key = await keystroke(page);
  console.log(`${sweep.rows} layouts: opened in ${times.map((t) => (t / 1000).toFixed(2)).join(', ')} s, a keystroke took ${key.toFixed(0)} ms; load ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
  const busy = os.loadavg()[0] > os.cpus().length; // then times tell of the neighbours
  faults.expect(busy || opened < 3000, `opening took ${opened.toFixed(0)} ms`);
  faults.expect(busy || key < 200, `a keystroke took ${key.toFixed(0)} ms`);
  await filterTo(page, '');
  await drawn(page, faults, '#scatter', [vermillion, '#0072b2']);
  await sweepTable(page, faults, made);
  await page.screenshot({ path: file.replace(/html$/, 'light.png'), fullPage: true });
  await sweepScatter(page, faults, made);
  await page.emulateMedia({ colorScheme: 'dark' });
  await settled(page);
  faults.expect(isDark(await background(page)), 'the page does not turn dark');
  await page.screenshot({ path: file.replace(/html$/, 'dark.png'), fullPage: true });
  await page.pdf({ path: file.replace(/html$/, 'pdf'), preferCSSPageSize: true });
}

const tests = { run: testRun, comparison: testComparison, sweep: testSweep, hostile: testHostile };
const [name, file] = process.argv.slice(2);
if (!tests[name] || !file) {
  console.error('usage: page_test.mjs run|comparison|sweep|hostile PAGE.html');
  process.exit(2);
}
const faults = new Faults();
const browser = await launch();
await tests[name](browser, path.resolve(file), faults);
await browser.close();
for (const fault of faults.list) console.log(`fault: ${fault}`);
console.log(`${name}: ${faults.list.length} faults; pictures beside ${file}`);
process.exit(faults.list.length > 0 ? 1 : 0);
