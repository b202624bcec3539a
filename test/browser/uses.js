// What a reader does with a page: uses(file) are [what, function] by the name of the file.  The
// functions return what is wrong, as those of inspect.js do.
'use strict';

const { figures } = require('./figures.js');

const LIST = [
  ['filters rows', filters],
  ['sorts rows', sorts],
  ['is used with keys alone', byKeys],
];
// With how many charts at least have tables.
const drawn = (least) => ['draws the figures of its tables', figures(least)];
const HOVER = ['tells the values at the pointer', hovers];

const USES = {
  dashboard: LIST,
  'dashboard-inline': [...LIST, drawn(6)],
  'report-whole': [drawn(6), HOVER, ['searches functions', searches], ['folds the flame graph', folds]],
  'report-day': [drawn(5), HOVER],
  'report-interval': [drawn(2), HOVER],
  'report-canceled': [drawn(4)],
  'report-failures': [drawn(1)],
  'report-scripts': [drawn(2)],
  'report-standby': [drawn(4), HOVER],
  'standby-report': [drawn(6), HOVER],
  'standby-dashboard': [...LIST, drawn(5)],
  'standby-set': [drawn(1)],
  'set-compare': [drawn(1)],
  'set-sweep': [drawn(1)],
  'set-capacity': [drawn(1)],
  'set-all': [drawn(3)],
};

function uses(file) {
  return USES[file.replace(/\.html$/, '')] ?? [];
}

function differs(what, got, expected) {
  const [a, b] = [got, expected].map((value) => JSON.stringify(value));
  return a === b ? [] : [`use: ${what}: ${a} instead of ${b}`];
}

// The texts of a column of the rows that are shown, by the name in its head.
function column(page, id, name) {
  return page.evaluate(
    ([id, name]) => {
      const table = document.getElementById(id).closest('section').querySelector('table');
      const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === name);
      const shown = [...table.tBodies[0].rows].filter((row) => row.getClientRects().length > 0);
      return shown.map((row) => row.cells[at].textContent);
    },
    [id, name],
  );
}

async function filters(page) {
  const all = await column(page, 'runs', 'Label');
  const nightly = all.filter((label) => label === 'nightly');
  await page.fill('#words', 'NIGHTLY finished');
  const found = await column(page, 'runs', 'Label');
  const told = await page.textContent('#found');
  await page.fill('#words', '-nightly');
  const others = await column(page, 'runs', 'Label');
  await page.fill('#words', 'no such row');
  const none = await column(page, 'runs', 'Label');
  await page.fill('#words', '');
  const cleared = await column(page, 'runs', 'Label');
  return [
    ...(nightly.length > 1 && nightly.length < all.length ? [] : ['use: no runs to filter']),
    ...differs('the filtered runs', found, nightly),
    ...(/^\d+ of \d+ rows$/.test(told) ? [] : [`use: told ${told}`]),
    ...differs('the others', others, all.filter((label) => label !== 'nightly')),
    ...differs('no row', none, []),
    ...differs('all rows again', cleared, all),
  ];
}

async function sorts(page) {
  const before = (await column(page, 'runs', 'tps')).map(Number.parseFloat);
  const known = before.filter((tps) => !Number.isNaN(tps)).sort((a, b) => b - a);
  const head = page.locator('section:has(#runs) th:has-text("tps")');
  const faults = [];
  for (const order of ['descending', 'ascending']) {
    await head.getByRole('button').click();
    const sorted = (await column(page, 'runs', 'tps')).map(Number.parseFloat);
    faults.push(
      ...differs('rows', sorted.length, before.length),
      ...differs(order, sorted.slice(0, known.length), order === 'descending' ? known : [...known].reverse()),
      ...differs('what assistive technology is told', await head.getAttribute('aria-sort'), order),
    );
  }
  await page.locator('section:has(#runs) th:has-text("Label")').getByRole('button').click();
  return [...faults, ...differs('columns with an order', await page.locator('section:has(#runs) th[aria-sort]').count(), 1)];
}

async function byKeys(page) {
  await page.keyboard.press('Tab');
  const first = await page.evaluate(() => document.activeElement.id);
  await page.keyboard.type('nightly');
  const found = new Set(await column(page, 'runs', 'Label'));
  const reached = new Set();
  for (let i = 0; i < 60; i += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.localName));
  }
  return [
    ...differs('the first element', first, 'words'),
    ...differs('the rows', [...found], ['nightly']),
    ...['button', 'div'].filter((name) => !reached.has(name)).map((name) => `use: no ${name} is reached by Tab`),
  ];
}

// The pointer on the first, a middle and the last moment of each chart over time.
async function hovers(page) {
  const faults = [];
  const charts = page.locator('figure > svg.chart[data-from]:has(path.line, path.area)');
  let told = 0;
  for (let i = 0; i < (await charts.count()); i += 1) {
    const chart = charts.nth(i);
    for (const part of [0, 0.5, 1]) {
      const moment = await chart.evaluate((svg, part) => {
        svg.scrollIntoView({ block: 'center' });
        const table = svg.parentNode.nextElementSibling?.querySelector('table');
        const rows = [...(table?.tBodies[0].rows ?? [])];
        if (rows.length === 0) return null;
        const row = rows[Math.round(part * (rows.length - 1))];
        const { from, to, left, right } = Object.fromEntries(Object.entries(svg.dataset).map(([name, value]) => [name, Number(value)]));
        const box = svg.getBoundingClientRect();
        const along = (Number(row.cells[0].textContent) - from) / (to - from);
        return {
          x: box.left + (left + along * (right - left)) * box.width,
          y: box.top + box.height / 2,
          says: [...row.cells].map((cell, at) => `${table.tHead.rows[0].cells[at].textContent}: ${cell.textContent}`).join('\n'),
        };
      }, part);
      if (moment === null) continue;
      await page.mouse.move(moment.x, moment.y);
      const tip = await page.evaluate(() => {
        const tip = document.querySelector('.tip');
        const box = tip.getBoundingClientRect();
        const isInside = box.left >= 0 && box.top >= 0 && box.right <= window.innerWidth && box.bottom <= window.innerHeight;
        return { says: tip.hidden ? 'nothing' : tip.textContent, isInside };
      });
      told += 1;
      faults.push(...differs('values', tip.says, moment.says), ...differs('values are in the window', tip.isInside, true));
    }
  }
  await page.mouse.move(0, 0);
  faults.push(...differs('no values beside a chart', await page.locator('.tip').isVisible(), false));
  return told > 0 ? faults : ['use: no values'];
}

// The frames of the flame graph: name, place in percent, whether they are shown and marked.
function frames(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll('g.flame svg.frame')].map((frame) => ({
      name: frame.querySelector('title').textContent.toLowerCase(),
      x: Number.parseFloat(frame.getAttribute('x')),
      width: Number.parseFloat(frame.getAttribute('width')),
      y: Number.parseFloat(frame.getAttribute('y')),
      shown: frame.getClientRects().length > 0,
      found: frame.classList.contains('found'),
    })),
  );
}

async function searches(page) {
  const search = page.getByLabel('Search functions');
  const before = await frames(page);
  // The name of the frame on the root, without its samples.
  const word = before[1].name.replace(/, .*/, '');
  await search.fill(word.toUpperCase());
  const after = await frames(page);
  const marked = after.filter(({ found }) => found).length;
  const expected = before.filter(({ name }) => name.includes(word)).length;
  const told = await page.locator('.tools output').textContent();
  await search.fill('');
  const cleared = (await frames(page)).filter(({ found }) => found).length;
  return [
    ...(before.length > 10 && expected > 0 ? [] : ['use: no frames']),
    ...differs('marked frames', marked, expected),
    ...differs('how many are told', Number.parseInt(told, 10), expected),
    ...differs('marked frames after all', cleared, 0),
  ];
}

async function folds(page) {
  const before = await frames(page);
  // The widest frame that is not as wide as the graph.
  const part = before.reduce((best, { width }, i) => (width < 99 && width > (before[best]?.width ?? 0) ? i : best), -1);
  const { x, width, y } = before[part];
  await page.locator('g.flame svg.frame').nth(part).click();
  const after = await frames(page);
  // Those below it and those above it, in the coordinates of before.
  const isBelow = (frame) => frame.y >= y && frame.x <= x + 1e-6 && frame.x + frame.width >= x + width - 1e-6;
  const isAbove = (frame) => frame.y <= y && frame.x >= x - 1e-6 && frame.x + frame.width <= x + width + 1e-6;
  const expected = before.map((frame) => isBelow(frame) || isAbove(frame));
  const wide = after.filter((frame, i) => isBelow(before[i]));
  const placed = before.every((frame, i) => !isAbove(frame) || Math.abs(after[i].width - (100 * frame.width) / width) < 0.01);
  await page.getByRole('button', { name: 'Show all' }).click();
  return [
    ...(part > 0 ? [] : ['use: no part of the graph']),
    ...differs('shown frames', after.map(({ shown }) => shown), expected),
    ...differs('frames that are as wide as the graph', wide.filter((frame) => frame.x === 0 && frame.width === 100).length, wide.length),
    ...differs('others are as much wider', placed, true),
    ...differs('all frames again', await frames(page), before),
  ];
}

module.exports = { uses };
