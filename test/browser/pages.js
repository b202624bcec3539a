// Opens the pages and charts of a directory in headless Chromium, wide and narrow, light and dark,
// with and without script, and prints them.  Writes TAP.  Environment: CHROMIUM, SCREENSHOTS.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { Checks, inspect, inspectChart, inspectPrint } = require('./inspect.js');
const { unfolded, uses } = require('./uses.js');

const WIDTHS = [390, 1400];
const SCHEMES = ['light', 'dark'];
// Pages that are open at the same time, and how long Chromium may take for anything on a busy machine.
const AT_ONCE = 2;
const PATIENCE = 300_000;

main().catch((error) => {
  console.log(`Bail out!  ${error.stack}`);
  process.exitCode = 1;
});

async function main() {
  const directory = process.argv[2];
  const files = fs.readdirSync(directory).filter((file) => /\.(html|svg)$/.test(file)).sort();
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, timeout: PATIENCE });
  const checks = new Checks();
  try {
    await findsFaults(browser, checks);
    await inParallel(
      files.flatMap((file) => visits(path.join(directory, file))),
      (visit) => open(browser, visit),
      ({ steps }, faults) => steps.forEach(({ name }, i) => checks.none(faults[i], name)),
    );
  } finally {
    await browser.close();
  }
  checks.done();
}

// Does all of some things, a few at a time, and tells of each in their order.
async function inParallel(things, start, tell) {
  const pending = [];
  for (const [at, thing] of things.entries()) {
    pending.push(start(thing));
    // A failure is told in its turn.
    pending[at].catch(() => {});
    const first = at - AT_ONCE + 1;
    if (first >= 0) tell(things[first], await pending[first]);
  }
  for (let at = Math.max(0, things.length - AT_ONCE + 1); at < things.length; at += 1) tell(things[at], await pending[at]);
}

// What is looked for is found in a page and in a chart that have all of it.
async function findsFaults(browser, checks) {
  const finds = async (file, step, kinds) => {
    const [faults] = await open(browser, { file: path.join(__dirname, file), script: true, steps: [step] });
    for (const kind of kinds) {
      checks.ok(faults.some((fault) => fault.startsWith(kind)), `finds faults: ${file}: ${kind}`, faults);
    }
  };
  const texts = ['text: "too little contrast" of "Texts" has', 'text: "over" and "each', 'text: "outside of the chart" of "Texts" is cut'];
  const kinds = ['console: ', 'request: ', 'overflow: ', 'axe: ', 'policy: ', 'markup: <img', 'markup: onclick', 'markup: another element has the id', ...texts];
  await finds('faults.html', { width: 390, rules: true, look: inspect }, kinds);
  await finds('faults.html', { look: inspectPrint }, ['print: ', ...texts]);
  const ofChart = ['chart: script', 'chart: onload', 'chart: href', 'chart: no role', 'chart: no desc', 'chart: 300,60 does not fit'];
  await finds('faults.svg', { look: inspectChart }, ['dialog: ', ...ofChart, 'text: ']);
}

// All that is done with a file: visits with the steps that are done one after the other.
function visits(file) {
  const name = path.basename(file);
  if (name.endsWith('.svg')) {
    // No script, and a width of its own.
    return [{ file, script: true, steps: SCHEMES.map((scheme) => ({ name: `${name}: ${scheme}`, scheme, look: inspectChart })) }];
  }
  return [true, false].map((script) => {
    const steps = WIDTHS.flatMap((width) =>
      SCHEMES.map((scheme) => {
        // A page is loaded for each width; without script, and for another scheme, nothing but style changes.
        const loaded = scheme !== SCHEMES[0] || (!script && width !== WIDTHS[0]);
        // The rules of axe-core take long; each width and each scheme has them once, but for reports in another
        // page, which have them alone, and all together when they are unfolded.
        const rules = script && !name.includes('inline') && (width === WIDTHS[0]) === (scheme === SCHEMES[0]);
        return { name: `${name}: ${width} px, ${scheme}, ${script ? 'with' : 'without'} script`, width, scheme, rules, loaded, look: inspect };
      }),
    );
    if (!script) return { file, script, steps };
    const unfolds = { name: `${name}: unfolded`, width: WIDTHS[0], rules: true, look: unfolded(inspect) };
    // Paper is light.
    const printed = { name: `${name}: print`, scheme: 'dark', look: inspectPrint };
    const used = uses(name).map(([what, look]) => ({ name: `${name}: ${what}`, look }));
    return { file, script, steps: [...steps, unfolds, printed, ...used] };
  });
}

// Opens a file for each step, and returns what is wrong in each: what the browser reports, and what
// the step looks for.
async function open(browser, { file, script, steps }) {
  const context = await browser.newContext({ javaScriptEnabled: script });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const url = `file://${path.resolve(file)}`;
  let faults;
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`console: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
  page.on('request', (request) => {
    if (request.url() !== url) faults.push(`request: ${request.url()}`);
  });
  const found = [];
  try {
    for (const { name = path.basename(file), width = 1400, scheme = 'light', rules = false, loaded = false, look } of steps) {
      faults = [];
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ media: 'screen', colorScheme: scheme });
      if (!loaded) await page.goto(url);
      faults.push(...(await look(page, { rules })));
      found.push(faults);
      if (process.env.SCREENSHOTS && look !== inspectPrint) {
        const picture = `${name.replace(/[^\w.]+/g, '-')}.png`;
        await page.screenshot({ path: path.join(process.env.SCREENSHOTS, picture), fullPage: look === inspect });
      }
    }
  } finally {
    await context.close();
  }
  return found;
}
