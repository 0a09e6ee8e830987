// Numbers as text, with units.

const digits = (x, n) => {
  if (x === 0) return '0';
  const whole = Math.floor(Math.log10(Math.abs(x))) + 1;
  return x.toFixed(Math.max(0, Math.min(12, n - whole)));
};

export function seconds(s, n = 4) {
  const a = Math.abs(s);
  if (a === 0) return '0 s';
  if (a < 1e-3) return `${digits(s * 1e6, n)} µs`;
  if (a < 1) return `${digits(s * 1e3, n)} ms`;
  return `${digits(s, n)} s`;
}
/** For all ticks of an axis one unit, that of its widest value. */
export function secondsIn(widest) {
  const [scale, unit] = widest < 1e-3 ? [1e6, 'µs'] : widest < 1 ? [1e3, 'ms'] : [1, 's'];
  return { unit, text: (s) => `${Number((s * scale).toPrecision(6))}` };
}
export const gib = (b) => `${(b / 2 ** 30).toFixed(2)} GiB`;
export function bytes(b) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  while (Math.abs(b) >= 1000 && unit < units.length - 1) { b /= 1000; ++unit; }
  return `${unit === 0 ? Math.round(b) : digits(b, 4)} ${units[unit]}`;
}
export const percent = (x, n = 1) => `${(100 * x).toFixed(n)} %`;
export const signedPercent = (x, n = 1) => `${x > 0 ? '+' : x < 0 ? '−' : '±'}${Math.abs(100 * x).toFixed(n)} %`;
export const count = (x) => x.toLocaleString('en-US', { maximumFractionDigits: 2 });
export const rate = (x) => (x >= 1000 ? Math.round(x).toLocaleString('en-US') : digits(x, 4));
export { digits };

/** How a figure of a report is shown, by its path: {unit, scale, text, better: -1 lower, 1 higher, 0}. */
export function figureStyle(name) {
  const last = name.split('.').pop();
  if (/^(mfu|hfu)$/.test(last)) return { unit: '%', scale: 100, better: 1, fixed: 2 };
  if (/fraction$|^idle_over_ideal$/.test(last)) return { unit: '%', scale: 100, better: -1, fixed: 2 };
  if (/^tokens_per_s/.test(last)) return { unit: '/s', scale: 1, better: 1 };
  if (/tflops/.test(last)) return { unit: 'TFLOP/s', scale: 1, better: 1 };
  if (/sent/.test(last)) return { unit: 'GB', scale: 1e-9, better: -1 };
  if (/bytes$/.test(last) || /^memory\./.test(name)) return { unit: 'GiB', scale: 2 ** -30, better: -1, fixed: 2 };
  if (/_s$/.test(last) || /^account_s\./.test(name) || /^exposed_/.test(last)) return { unit: 's', scale: 1, better: -1 };
  return { unit: '', scale: 1, better: 0 };
}
export function figureText(style, x) {
  if (!Number.isFinite(x)) return '–';
  const shown = x * style.scale;
  if (style.fixed !== undefined) return shown.toFixed(style.fixed);
  return Number.isInteger(shown) && Math.abs(shown) < 1e9 ? `${shown}` : digits(shown, 4);
}
