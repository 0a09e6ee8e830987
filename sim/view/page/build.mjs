// Bundles the page into one HTML file with a place for a payload. usage: build.mjs OUT.html
import * as esbuild from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(here, '../../../node_modules');

async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [path.join(here, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: ['chrome100', 'firefox100', 'safari15'],
    charset: 'utf8',
    legalComments: 'none', // stand in full in the notices
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  });
  return result.outputFiles[0].text.trim();
}

// What must go with the libraries in the bundle, as an HTML comment.
function notices() {
  const files = ['echarts/NOTICE', 'echarts/LICENSE', 'zrender/LICENSE', 'tslib/LICENSE.txt'];
  const texts = files.map((file) => `==== ${file}\n\n${fs.readFileSync(path.join(modules, file), 'utf8').trim()}`);
  return `<!--\nThis page holds parts of these libraries.\n\n${texts.join('\n\n').replace(/--/g, '- -')}\n-->`;
}

const [out] = process.argv.slice(2);
if (!out) {
  console.error('usage: build.mjs OUT.html');
  process.exit(2);
}
const parts = { NOTICES: notices(), STYLE: await bundle('style.css'), SCRIPT: await bundle('main.js') };
if (/<\/(script|style)/i.test(parts.SCRIPT + parts.STYLE)) throw new Error('the bundle would end its own element');
let page = fs.readFileSync(path.join(here, 'index.html'), 'utf8');
for (const [name, text] of Object.entries(parts)) page = page.replace(`@${name}@`, () => text);
if (page.split('@PAYLOAD@').length !== 2) throw new Error('the page must have one place for a payload');
fs.mkdirSync(path.dirname(path.resolve(out)), { recursive: true });
fs.writeFileSync(out, page);
