// What must hold for every page and chart.  Each function returns what is wrong, as texts that
// begin with the kind of the fault.
'use strict';

const axe = require('axe-core');

// The part of A4 between margins of 1 cm, in CSS pixels.
const PAPER = { width: 718, height: 1046 };

class Checks {
  constructor() {
    this.count = 0;
    this.failed = 0;
  }

  ok(holds, name, details = []) {
    this.count += 1;
    console.log(`${holds ? 'ok' : 'not ok'} ${this.count} - ${name}`);
    if (holds) return;
    this.failed += 1;
    // As Test::More does, to the standard error.
    console.error(`#   Failed test '${name}'`);
    console.error('#   in test/browser.');
    for (const detail of details) console.error(`# ${detail.replace(/\s+/g, ' ').slice(0, 400)}`);
  }

  none(faults, name) {
    this.ok(faults.length === 0, name, faults);
  }

  done() {
    console.log(`1..${this.count}`);
    process.exitCode = this.failed > 0 ? 1 : 0;
  }
}

async function inspect(page, { rules }) {
  const faults = [...(await policyOf(page)), ...(await markupOf(page)), ...(await overflowOf(page)), ...(await page.evaluate(legendsOf)), ...(await page.evaluate(textsOf))];
  if (rules) {
    // By the debugger's protocol, to which the page's policy does not apply.
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    for (const { id, help, nodes } of violations) {
      faults.push(`axe: ${id}: ${help}: ${nodes.length} times, first ${nodes[0].html} ${nodes[0].failureSummary}`);
    }
  }
  return faults;
}

// Nothing but style and script that the document itself has, by hash.
function policyOf(page) {
  return page.evaluate(() => {
    const meta = document.querySelector('head > meta[http-equiv="Content-Security-Policy"]');
    const policy = meta ? meta.content : 'none';
    const directives = policy.split(';').map((directive) => directive.trim()).filter(Boolean);
    const allowed = /^(default-src 'none'|(style|script)-src( 'sha256-[\w+/]{43}=')+|(script-src|base-uri|form-action) 'none')$/;
    const wrong = directives.filter((directive) => !allowed.test(directive));
    if (!directives.includes("default-src 'none'")) wrong.push("no default-src 'none'");
    return wrong.map((directive) => `policy: ${directive}`);
  });
}

// Nothing that leads elsewhere, and no attribute that is executed: texts from outside could have
// brought it.
function markupOf(page) {
  return page.evaluate(() => {
    const elements = document.querySelectorAll('a:not([href^="#"]), applet, base, embed, frame, iframe, img, link, object, video, audio, image, foreignObject');
    const faults = [...elements].map((element) => `markup: ${element.outerHTML.slice(0, 80)}`);
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    faults.push(...ids.filter((id, i) => ids.indexOf(id) < i).map((id) => `markup: another element has the id ${id}`));
    for (const element of document.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        // Lists of contents, and runs, lead to parts of the page.
        const isWithin = name === 'href' && /^#[a-z]+(-[0-9]+)?$/.test(value);
        if (/^on|^(src|srcdoc|srcset|action|formaction)$|href$/.test(name) && !isWithin) faults.push(`markup: ${name} of ${element.localName}`);
      }
    }
    return faults;
  });
}

// In the page: two of two to four short rows of a legend take one line if there is place, below the caption.
function legendsOf() {
  const across = matchMedia('(min-width: 46rem)').matches ? 2 : 1;
  return [...document.querySelectorAll('figure > svg:has(.rows)')].filter((svg) => svg.getBoundingClientRect().width > 0).flatMap((svg) => {
    const rows = [...svg.querySelectorAll('.rows > text')].map((row) => row.getBoundingClientRect());
    const lines = [...new Set(rows.map(({ top }) => Math.round(top)))];
    const name = svg.querySelector('title').textContent;
    const faults = lines.length === Math.ceil(rows.length / across) ? [] : [`legend: ${rows.length} rows of "${name}" in ${lines.length} lines`];
    const above = svg.parentElement.querySelector('figcaption').getBoundingClientRect().bottom;
    return Math.min(...lines) >= above - 1 ? faults : [...faults, `legend: that of "${name}" is over the caption`];
  });
}

// In the page: texts of charts are within the chart, apart from each other and apart from what is
// behind them, but for a few pixels by which fonts differ.  Frames of flame graphs and names of
// statements are cut on purpose.
function textsOf() {
  const color = (text) => (text.match(/[\d.]+/g) ?? [255, 255, 255]).slice(0, 3).map(Number);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (svg) => {
    const page = svg.querySelector(':scope > .page');
    if (page) return color(getComputedStyle(page).fill);
    const body = document.body ? getComputedStyle(document.body).backgroundColor : 'rgba(0, 0, 0, 0)';
    // A page that has no color, or is printed, is white.
    return matchMedia('print').matches || body === 'rgba(0, 0, 0, 0)' ? [255, 255, 255] : color(body);
  };
  const charts = [...document.querySelectorAll('svg.chart')].filter((svg) => svg.getBoundingClientRect().width > 0);
  return charts.flatMap((svg) => {
    const outer = svg.getBoundingClientRect();
    const name = svg.querySelector('title')?.textContent ?? '';
    const back = behind(svg);
    const texts = [...svg.querySelectorAll('text')].filter((text) => {
      const part = text.ownerSVGElement;
      return part === svg || (part.ownerSVGElement === svg && part.querySelector(':scope > title'));
    }).filter((text) => !text.closest('.frame') && text.textContent.trim() !== '');
    const boxes = texts.map((text) => ({ text, box: text.getBoundingClientRect() }));
    const faults = [];
    for (const { text, box } of boxes) {
      if (box.left < outer.left - 3 || box.right > outer.right + 3 || box.top < outer.top - 3 || box.bottom > outer.bottom + 3) {
        faults.push(`text: "${text.textContent}" of "${name}" is cut`);
      }
      const ratio = contrast(color(getComputedStyle(text).fill), back);
      if (ratio < 4.5) faults.push(`text: "${text.textContent}" of "${name}" has a contrast of ${ratio.toFixed(2)}`);
    }
    boxes.forEach(({ text, box }, i) => {
      for (const other of boxes.slice(i + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (across > 2 && down > 4) faults.push(`text: "${text.textContent}" and "${other.text.textContent}" of "${name}" overlap`);
      }
    });
    return faults;
  });
}

function overflowOf(page) {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const wide = [...document.body.querySelectorAll('*')]
      .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
      .slice(0, 3)
      .map((element) => element.outerHTML.slice(0, 80));
    return [`overflow: ${scrollWidth} px instead of ${clientWidth}: ${wide.join(' ')}`];
  });
}

// A chart on its own: an image with a name and a finding, and nothing that is executed.
async function inspectChart(page) {
  const texts = await page.evaluate(textsOf);
  const faults = await page.evaluate(() => {
    const svg = document.documentElement;
    if (document.querySelector('parsererror')) return [`chart: ${document.querySelector('parsererror').textContent}`];
    const faults = [];
    if (svg.getAttribute('role') !== 'img') faults.push('chart: no role');
    for (const name of ['title', 'desc']) {
      const text = svg.querySelector(`:scope > ${name}`)?.textContent ?? '';
      if (text.trim() === '') faults.push(`chart: no ${name}`);
    }
    for (const element of [svg, ...svg.querySelectorAll('*')]) {
      if (element.localName === 'script') faults.push('chart: script');
      for (const { name } of element.attributes) {
        if (/^on|^style$|href$/.test(name)) faults.push(`chart: ${name} of ${element.localName}`);
      }
    }
    const { width, height } = svg.viewBox.baseVal;
    const wanted = [svg.width.baseVal.value, svg.height.baseVal.value];
    if (Math.abs(wanted[0] / wanted[1] - width / height) > 0.001) faults.push(`chart: ${wanted} does not fit ${[width, height]}`);
    return faults;
  });
  return [...faults, ...texts];
}

// On paper, nothing is cut at the right, and a chart is as a whole on one page.
async function inspectPrint(page) {
  await page.setViewportSize(PAPER);
  await page.emulateMedia({ media: 'print' });
  const faults = await page.evaluate(({ width, height }) => {
    const whole = (element) =>
      element !== null && (getComputedStyle(element).breakInside === 'avoid' || whole(element.parentElement));
    const wide = [...document.querySelectorAll('table')].filter((table) => table.getBoundingClientRect().right > width + 1);
    const cut = wide.map((table) => `print: the table "${table.textContent.slice(0, 40)}" is wider than the paper`);
    // A chart cuts what is within it.
    const charts = [...document.querySelectorAll('svg')].filter((svg) => svg.ownerSVGElement === null).flatMap((svg) => {
      const box = svg.getBoundingClientRect();
      const name = svg.querySelector('title')?.textContent ?? svg.outerHTML.slice(0, 80);
      const faults = [];
      if (box.width === 0) return [];
      if (box.right > width + 1 || box.left < -1) faults.push(`print: "${name}" is wider than the paper`);
      if (box.height > height) faults.push(`print: "${name}" is higher than the paper`);
      if (!whole(svg)) faults.push(`print: "${name}" may be cut`);
      return faults;
    });
    return [...cut, ...charts];
  }, PAPER);
  faults.push(...(await page.evaluate(textsOf)));
  const pdf = await page.pdf({ format: 'A4', margin: { top: '1cm', bottom: '1cm', left: '1cm', right: '1cm' } });
  if (!pdf.subarray(0, 5).equals(Buffer.from('%PDF-'))) faults.push('print: no PDF');
  return faults;
}

module.exports = { Checks, inspect, inspectChart, inspectPrint };
