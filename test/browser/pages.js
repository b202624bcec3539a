// Opens the pages and charts of a directory in headless Chromium, wide and narrow, light and dark,
// with and without script, and prints them.  Writes TAP.  Environment: CHROMIUM, SCREENSHOTS.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { Checks, inspect, inspectChart, inspectPrint } = require('./inspect.js');
const { uses } = require('./uses.js');

const WIDTHS = [390, 1400];
const SCHEMES = ['light', 'dark'];

main().catch((error) => {
  console.log(`Bail out!  ${error.stack}`);
  process.exitCode = 1;
});

async function main() {
  const directory = process.argv[2];
  const files = fs.readdirSync(directory).filter((file) => /\.(html|svg)$/.test(file)).sort();
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM });
  const checks = new Checks();
  try {
    await findsFaults(browser, checks);
    for (const file of files) {
      await inAllModes(browser, checks, path.join(directory, file));
    }
  } finally {
    await browser.close();
  }
  checks.done();
}

// What is looked for is found in a page that has all of it.
async function findsFaults(browser, checks) {
  const file = path.join(__dirname, 'faults.html');
  const faults = await visit(browser, { width: 390 }, file, inspect);
  for (const kind of ['console', 'request', 'overflow', 'axe', 'policy']) {
    checks.ok(faults.some((fault) => fault.startsWith(`${kind}: `)), `finds faults: ${kind}`, faults);
  }
  const print = await visit(browser, {}, file, inspectPrint);
  checks.ok(print.some((fault) => fault.startsWith('print: ')), 'finds faults: print', print);
}

async function inAllModes(browser, checks, file) {
  const name = path.basename(file);
  const isPage = name.endsWith('.html');
  for (const width of WIDTHS) {
    for (const scheme of SCHEMES) {
      for (const script of [true, false]) {
        // The rules of axe-core take long; each width and each scheme has them once.
        const rules = script && (width === WIDTHS[0]) === (scheme === SCHEMES[0]);
        const mode = { width, scheme, script, rules };
        const faults = await visit(browser, mode, file, isPage ? inspect : inspectChart);
        checks.none(faults, `${name}: ${width} px, ${scheme}, ${script ? 'with' : 'without'} script`);
      }
    }
  }
  if (isPage) {
    checks.none(await visit(browser, {}, file, inspectPrint), `${name}: print`);
    for (const [what, use] of uses(name)) {
      checks.none(await visit(browser, {}, file, use), `${name}: ${what}`);
    }
  }
}

// Opens a file in a mode, and returns what is wrong with it: what the browser reports, and what
// `look` finds.
async function visit(browser, { width = 1400, scheme = 'light', script = true, rules = true }, file, look) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    javaScriptEnabled: script,
  });
  const faults = [];
  const page = await context.newPage();
  const url = `file://${path.resolve(file)}`;
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`console: ${error.message}`));
  page.on('request', (request) => {
    if (request.url() !== url) faults.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(url);
    faults.push(...(await look(page, { rules })));
    if (process.env.SCREENSHOTS && look === inspect) {
      const name = [path.basename(file), width, scheme, ...(script ? [] : ['without-script'])].join('-');
      await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
    }
  } finally {
    await context.close();
  }
  return faults;
}
