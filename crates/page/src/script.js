"use strict";
(function () {
  // Values of charts over time: the row of the figures' table that is nearest to the pointer.
  var tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("aria-hidden", "true");
  document.body.appendChild(tip);
  document.querySelectorAll("figure > svg[data-from]").forEach(function (svg) {
    var figure = svg.parentNode;
    var table = figure.nextElementSibling && figure.nextElementSibling.querySelector("table");
    if (!table) return;
    var from = Number(svg.dataset.from), to = Number(svg.dataset.to);
    var left = Number(svg.dataset.left), right = Number(svg.dataset.right);
    var heads = Array.from(table.tHead.rows[0].cells, function (cell) { return cell.textContent; });
    var rows = Array.from(table.tBodies[0].rows);
    var times = rows.map(function (row) { return Number(row.cells[0].textContent); });
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect();
      var part = ((event.clientX - box.left) / box.width - left) / (right - left);
      var at = from + part * (to - from), best = 0;
      times.forEach(function (time, i) {
        if (Math.abs(time - at) < Math.abs(times[best] - at)) best = i;
      });
      if (part < -0.02 || part > 1.02 || !rows.length) { tip.hidden = true; return; }
      tip.textContent = Array.from(rows[best].cells, function (cell, i) {
        return heads[i] + ": " + cell.textContent;
      }).join("\n");
      tip.hidden = false;
      var x = event.clientX + 14, y = event.clientY + 14;
      if (x + tip.offsetWidth > document.documentElement.clientWidth) x = event.clientX - tip.offsetWidth - 14;
      tip.style.left = Math.max(0, x) + "px";
      tip.style.top = Math.max(0, Math.min(y, window.innerHeight - tip.offsetHeight)) + "px";
    });
    svg.addEventListener("pointerleave", function () { tip.hidden = true; });
  });
  tip.hidden = true;

  // Flame graphs: a click, or Enter, makes a frame as wide as the graph; a search marks functions. Of all
  // frames, Tab reaches one; arrow keys go from it to its neighbors, Escape shows all.
  document.querySelectorAll("svg.chart g.flame").forEach(function (flame) {
    var chart = flame.closest("svg.chart"), figure = flame.closest("figure");
    var frames = Array.from(flame.querySelectorAll("svg.frame")).map(function (frame) {
      return { frame: frame, from: parseFloat(frame.getAttribute("x")), width: parseFloat(frame.getAttribute("width")),
        y: parseFloat(frame.getAttribute("y")), name: frame.querySelector("title").textContent };
    });
    var whole = { from: 0, width: 100, y: 1e9 };
    // An image has no parts that can be reached.
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", chart.querySelector("title").textContent);
    function zoom(to) {
      var end = to.from + to.width;
      frames.forEach(function (f) {
        var covers = f.from <= to.from + 1e-6 && f.from + f.width >= end - 1e-6 && f.y >= to.y;
        var inside = f.from >= to.from - 1e-6 && f.from + f.width <= end + 1e-6 && f.y <= to.y;
        f.frame.style.display = covers || inside ? "" : "none";
        var width = covers ? 100 : 100 * f.width / to.width;
        f.frame.setAttribute("x", (covers ? 0 : 100 * (f.from - to.from) / to.width) + "%");
        f.frame.setAttribute("width", width + "%");
        f.frame.setAttribute("aria-pressed", String(f === to));
        // Narrow frames have no text until they are wide.
        if (width < 2 || f.frame.querySelector("text")) return;
        var text = document.createElementNS(chart.namespaceURI, "text");
        text.setAttribute("x", "3");
        text.setAttribute("y", "12");
        text.textContent = f.name.split(", ").slice(0, -2).join(", ");
        f.frame.appendChild(text);
      });
    }
    function reach(to) {
      frames.forEach(function (f) { f.frame.setAttribute("tabindex", f === to ? "0" : "-1"); });
    }
    // The nearest frame that is shown in a direction: above or below, or in the same row.
    function neighbor(of, key) {
      var rows = { ArrowUp: -1, ArrowDown: 1 }[key] || 0, height = parseFloat(of.frame.getAttribute("height"));
      return frames.filter(function (f) {
        if (f === of || f.frame.style.display === "none" || Math.abs(f.y - of.y - rows * height) > 0.5) return false;
        if (key === "ArrowLeft") return f.from < of.from;
        if (key === "ArrowRight") return f.from > of.from;
        return f.from < of.from + of.width - 1e-6 && of.from < f.from + f.width - 1e-6;
      }).sort(function (a, b) {
        return rows ? b.width - a.width : Math.abs(a.from - of.from) - Math.abs(b.from - of.from);
      })[0];
    }
    frames.forEach(function (f) {
      f.frame.setAttribute("role", "button");
      f.frame.setAttribute("aria-label", f.name);
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
    });
    zoom(whole);
    reach(frames[0]);
    var label = document.createElement("label");
    label.className = "search";
    label.textContent = "Search functions ";
    var input = document.createElement("input");
    input.type = "search";
    var found = document.createElement("output");
    var reset = document.createElement("button");
    reset.type = "button";
    reset.textContent = "Show all";
    reset.addEventListener("click", function () { zoom(whole); });
    input.addEventListener("input", function () {
      var text = input.value.toLowerCase(), count = 0;
      frames.forEach(function (f) {
        var is = text !== "" && f.name.toLowerCase().indexOf(text) >= 0;
        f.frame.classList.toggle("found", is);
        count += is;
      });
      found.textContent = text === "" ? "" : " " + count + " frames ";
    });
    label.appendChild(input);
    var bar = document.createElement("div");
    bar.append(label, found, reset);
    bar.className = "tools";
    figure.insertBefore(bar, chart);
  });
})();
