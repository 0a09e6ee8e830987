// Colours: Okabe and Ito's palette, told apart by the colour-blind, and the two grounds it stands on.

export const palette = {
  blue: '#0072B2', sky: '#56B4E9', green: '#009E73', yellow: '#F0E442', orange: '#E69F00', vermillion: '#D55E00', purple: '#CC79A7',
};

export const parts = [
  ['compute', 'compute', palette.blue],
  ['recompute', 'recompute', palette.sky],
  ['exposed_tp', 'exposed TP', palette.vermillion],
  ['exposed_cp', 'exposed CP', palette.green],
  ['exposed_ep', 'exposed EP', '#8C564B'],
  ['exposed_pp', 'exposed PP', palette.orange],
  ['exposed_dp', 'exposed DP', palette.purple],
  ['bubble', 'bubble', '#9AA0A6'],
  ['optimizer', 'optimizer', palette.yellow],
  ['overhead', 'overhead', '#5F6368'],
].map(([key, label, colour]) => ({ key, label, colour }));

export const memoryParts = [
  ['weights', palette.blue],
  ['gradients', palette.sky],
  ['optimizer', palette.yellow],
  ['framework', '#9AA0A6'],
  ['buffers', palette.green],
  ['activations', palette.orange],
  ['logits', palette.vermillion],
].map(([key, colour]) => ({ key, label: key, colour }));

// By kind, then even and odd chunks of a stage.
export const actions = {
  F: { label: 'forward', colours: [palette.blue, '#66AAD1'] },
  B: { label: 'backward', colours: [palette.green, '#66C5AB'] },
  I: { label: 'input gradient', colours: [palette.orange, '#F0C566'] },
  W: { label: 'weight gradient', colours: [palette.purple, '#E0AFCA'] },
  O: { label: 'optimizer and other', colours: [palette.yellow, palette.yellow] },
};
export const axes = {
  t: { label: 'TP', colour: palette.vermillion },
  c: { label: 'CP', colour: palette.green },
  p: { label: 'PP', colour: palette.orange },
  e: { label: 'EP', colour: '#8C564B' },
  d: { label: 'DP', colour: palette.purple },
};
export const categories = [palette.blue, palette.orange, palette.green, palette.purple, palette.sky, palette.vermillion, palette.yellow, '#8C564B'];

const ramps = { light: [[0, 45, 98], [0, 114, 178], [120, 125, 130], [190, 140, 0]], dark: [[86, 180, 233], [150, 175, 200], [205, 195, 150], [255, 234, 70]] };

/** One ramp from blue to yellow, in an order that the colour-blind see; t in 0..1. */
export function ramp(t) {
  const stops = ramps[isDark() ? 'dark' : 'light'];
  const at = Math.min(stops.length - 1.001, Math.max(0, t) * (stops.length - 1));
  const i = Math.floor(at), f = at - i;
  return `rgb(${stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * f)).join(',')})`;
}

let printing = false;
const listeners = [];

export const isDark = () => !printing && (document.documentElement.dataset.theme
  ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);

export function ground() {
  return isDark()
    ? { ink: '#E3E6EA', muted: '#9AA3AD', line: '#353C45', grid: '#2A3038', panel: '#1B2026', row: '#20262D' }
    : { ink: '#1B1F24', muted: '#5B6570', line: '#C9CFD6', grid: '#E7EAEE', panel: '#FFFFFF', row: '#F3F5F7' };
}

/** Calls `redraw` whenever colours or the paper change. */
export function onRedraw(redraw) {
  listeners.push(redraw);
}
export const isPrinting = () => printing;
const redrawAll = () => listeners.forEach((redraw) => redraw());

export function watchTheme() {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
  const print = (on) => {
    if (printing === on) return;
    printing = on;
    document.documentElement.classList.toggle('printing', on);
    redrawAll();
  };
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
}

export function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
  redrawAll();
}
