"use strict";
(function () {
  function element(name, properties) { return Object.assign(document.createElement(name), properties); }
  // Flame graphs: a click, or Enter, makes a frame as wide as the graph; a search marks functions. Of all
  // frames, Tab reaches one; arrow keys go from it to its neighbors, Escape shows all. A graph can be inverted: then
  // the functions themselves are in the first row, and below each its callers.
  document.querySelectorAll("svg.chart g.flame").forEach(function (flame) {
    var chart = flame.closest("svg.chart"), figure = flame.closest("figure"), height = chart.getAttribute("height");
    function read(frame) {
      var title = frame.querySelector("title").textContent;
      return { frame: frame, from: parseFloat(frame.getAttribute("x")), width: parseFloat(frame.getAttribute("width")),
        y: parseFloat(frame.getAttribute("y")), title: title, name: title.replace(/, [\d,]+ samples?, .*$/, ""),
        samples: Number((/, ([\d,]+) samples?, /.exec(title) || ["", "0"])[1].replace(/,/g, "")), points: Number(frame.dataset.points || 0) };
    }
    var normal = Array.from(flame.children).map(read), frames = normal, inverted = null;
    var row = parseFloat(flame.children[0].getAttribute("height")), bottom = normal[0].y, isChange = "points" in normal[0].frame.dataset;
    normal.forEach(function (f) { f.level = Math.round((bottom - f.y) / row); });
    var whole = { from: 0, width: 100, level: -1 };
    // An image has no parts that can be reached.
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", chart.querySelector("title").textContent);
    function named(f) {
      var text = f.frame.appendChild(document.createElementNS(chart.namespaceURI, "text"));
      text.setAttribute("x", "3");
      text.setAttribute("y", "12");
      text.textContent = f.name;
    }
    function zoom(to) {
      var end = to.from + to.width;
      frames.forEach(function (f) {
        var covers = f.from <= to.from + 1e-6 && f.from + f.width >= end - 1e-6 && f.level <= to.level;
        var inside = f.from >= to.from - 1e-6 && f.from + f.width <= end + 1e-6 && f.level >= to.level;
        f.frame.style.display = covers || inside ? "" : "none";
        var width = covers ? 100 : 100 * f.width / to.width;
        f.frame.setAttribute("x", (covers ? 0 : 100 * (f.from - to.from) / to.width) + "%");
        f.frame.setAttribute("width", width + "%");
        f.frame.setAttribute("aria-pressed", String(f === to));
        // Narrow frames have no text until they are wide.
        if (width >= 2 && !f.frame.querySelector("text")) named(f);
      });
    }
    function reach(to) {
      frames.forEach(function (f) { f.frame.setAttribute("tabindex", f === to ? "0" : "-1"); });
    }
    // The nearest frame that is shown in a direction: above or below, or in the same row.
    function neighbor(of, key) {
      var rows = ({ ArrowUp: 1, ArrowDown: -1 }[key] || 0) * (frames === inverted ? -1 : 1);
      return frames.filter(function (f) {
        if (f === of || f.frame.style.display === "none" || f.level !== of.level + rows) return false;
        if (key === "ArrowLeft") return f.from < of.from;
        if (key === "ArrowRight") return f.from > of.from;
        return f.from < of.from + of.width - 1e-6 && of.from < f.from + f.width - 1e-6;
      }).sort(function (a, b) {
        return rows ? b.width - a.width : Math.abs(a.from - of.from) - Math.abs(b.from - of.from);
      })[0];
    }
    function listen(f) {
      f.frame.setAttribute("role", "button");
      f.frame.setAttribute("aria-label", f.title);
      f.frame.addEventListener("click", function () { reach(f); zoom(f); });
      f.frame.addEventListener("keydown", function (event) {
        if (event.key === "Enter" || event.key === " ") zoom(f);
        else if (event.key === "Escape") zoom(whole);
        else if (event.key.indexOf("Arrow") === 0) {
          var next = neighbor(f, event.key);
          if (next) { reach(next); next.frame.focus(); }
        } else return;
        event.preventDefault();
      });
    }
    // The frames of the inverted graph. What is not drawn belongs to its callers.
    function invert() {
      var all = normal[0].samples, root = { name: normal[0].name, kind: "frame root", samples: 0, points: 0, callers: new Map() }, made = [];
      normal.forEach(function (f) {
        var middle = f.from + f.width / 2;
        f.caller = normal.find(function (g) { return g.level === f.level - 1 && g.from <= middle && middle < g.from + g.width; });
        f.own = { samples: f.samples, points: f.points };
      });
      normal.forEach(function (f) {
        if (!f.caller) return;
        f.caller.own.samples -= f.samples;
        f.caller.own.points -= f.points;
      });
      normal.forEach(function (f) {
        var at = root;
        for (var g = f; g && f.own.samples > 0; g = g.caller) {
          at.samples += f.own.samples;
          at.points += f.own.points;
          if (!g.caller) break;
          if (!at.callers.has(g.name)) at.callers.set(g.name, { name: g.name, kind: g.frame.getAttribute("class"), samples: 0, points: 0, callers: new Map() });
          at = at.callers.get(g.name);
        }
      });
      (function draw(node, from, level) {
        var frame = document.createElementNS(chart.namespaceURI, "svg"), width = 100 * node.samples / all;
        var step = [-3, -0.5, 0.5, 3].filter(function (least) { return node.points > least; }).length;
        frame.setAttribute("class", isChange && level > 0 ? "frame " + ["less", "fewer", "same", "more", "most"][step] : node.kind);
        Object.entries({ x: from + "%", y: bottom - row * (depth - 1) + row * level, width: width + "%", height: row }).forEach(function (entry) { frame.setAttribute(entry[0], entry[1]); });
        var title = frame.appendChild(document.createElementNS(chart.namespaceURI, "title")), rect = frame.appendChild(document.createElementNS(chart.namespaceURI, "rect"));
        title.textContent = node.name + ", " + node.samples.toLocaleString("en") + (node.samples === 1 ? " sample, " : " samples, ") + width.toFixed(1) + " %" + (isChange ? ", " + (node.points < 0 ? "" : "+") + node.points.toFixed(1) + " points" : "");
        rect.setAttribute("width", "100%");
        rect.setAttribute("height", row - 1);
        var f = read(frame);
        f.level = level;
        made.push(f);
        Array.from(node.callers.values()).sort(function (a, b) { return b.samples - a.samples; }).forEach(function (caller) {
          if (caller.samples >= all * 0.002) draw(caller, from, level + 1);
          from += 100 * caller.samples / all;
        });
      })(root, 0, 0);
      return made;
    }
    var depth = 1 + Math.max.apply(null, normal.map(function (f) { return f.level; }));
    normal.forEach(listen);
    zoom(whole);
    reach(frames[0]);
    var label = element("label", { className: "search", textContent: "Search functions " });
    var input = element("input", { type: "search" }), found = element("output", {});
    function search() {
      var text = input.value.toLowerCase(), count = 0, ended = 0, width = 0;
      frames.slice().sort(function (a, b) { return a.from - b.from; }).forEach(function (f) {
        var is = text !== "" && f.title.toLowerCase().indexOf(text) >= 0, end = f.from + f.width;
        f.frame.classList.toggle("found", is);
        if (!is) return;
        count += 1;
        // What a frame calls is a part of it.
        width += Math.max(0, end - Math.max(ended, f.from));
        ended = Math.max(ended, end);
      });
      found.textContent = text === "" ? "" : " " + count + (count === 1 ? " frame, " : " frames, ") + width.toFixed(1) + " % ";
    }
    input.addEventListener("input", search);
    label.appendChild(input);
    var invertedBy = element("button", { type: "button", textContent: "Inverted" }), reset = element("button", { type: "button", textContent: "Show all" });
    invertedBy.setAttribute("aria-pressed", "false");
    invertedBy.addEventListener("click", function () {
      zoom(whole);
      if (!inverted) {
        inverted = invert();
        inverted.forEach(listen);
      }
      frames = frames === normal ? inverted : normal;
      invertedBy.setAttribute("aria-pressed", String(frames === inverted));
      flame.replaceChildren.apply(flame, frames.map(function (f) { return f.frame; }));
      var levels = 1 + Math.max.apply(null, frames.map(function (f) { return f.level; }));
      chart.setAttribute("height", frames === normal ? height : height - row * (depth - levels));
      zoom(whole);
      reach(frames[0]);
      search();
    });
    reset.addEventListener("click", function () { zoom(whole); });
    var bar = element("div", { className: "tools" });
    bar.append(invertedBy, label, found, reset);
    figure.insertBefore(bar, chart);
  });
})();
