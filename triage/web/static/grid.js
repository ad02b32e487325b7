// The rank grid: every rank of the job on one canvas, a column a node. Its cells come as bytes
// (see triage/services/incidents/pictures.py, grid_bytes); the table below it says the same in words.
(() => {
  "use strict";

  const LABEL = 18, GAP = 6, LARGEST = 28, SMALLEST = 3, ROOM = 460, MOST_ROOM = 720;
  const STANDS_OUT = new Set(["culprit", "possible", "no_dump"]);
  const SIGNS = { culprit: "×", possible: "?", no_dump: "–" };
  const MOST_RINGS = 64;
  const ROWS = "Point at a square, or press an arrow key. Ranks stand in rows: nothing says on which nodes they are.";

  function unpacked(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    let place = 4 + length;
    const part = (Type) => {
      const found = new Type(buffer, place, head.num);
      place += found.byteLength;
      return found;
    };
    const late = head.late ? part(Float32Array) : null;
    const places = head.places.length ? part(Uint16Array) : null;
    return { ...head, late, place: places, state: part(Uint8Array), rank: spread(head) };
  }

  function spread(head) {
    const ranks = new Uint32Array(head.num);
    let at = 0;
    for (const span of head.ranks.split(",")) {
      const [first, last] = span.split("-").map(Number);
      for (let rank = first; rank <= (last ?? first); rank += 1) ranks[at++] = rank;
    }
    return ranks;
  }

  // Where each cell stands: strips are nodes, upright; or rows of ranks where no node is known.
  class Layout {
    constructor(cells, width) {
      this.upright = cells.nodes.length > 0;
      const strips = this.upright ? cells.nodes.map(([, count]) => count) : [];
      this.tall = this.upright ? Math.max(...strips) : 1;
      this.num = this.upright ? strips.length : cells.num;
      const room = cells.num > 2048 ? MOST_ROOM : ROOM;
      for (this.size = LARGEST; this.size > SMALLEST; this.size -= 1) {
        this.across = this.fitting(width);
        if (this.height() <= room) break;
      }
      this.across = this.fitting(width);
      this.first = new Uint32Array(strips.length + 1);
      strips.forEach((count, k) => { this.first[k + 1] = this.first[k] + count; });
    }

    // Rows of ranks begin at round numbers.
    fitting(width) {
      const most = Math.max(1, Math.floor(width / this.size));
      return this.upright ? most : [256, 128, 64, 32, 16, 8].find((one) => one <= most) ?? most;
    }

    pitch() { return this.upright ? LABEL + this.tall * this.size + GAP : this.size; }
    height() { return Math.ceil(this.num / this.across) * this.pitch() + (this.upright ? 0 : GAP); }

    spot(strip, row) {
      const top = Math.floor(strip / this.across) * this.pitch();
      return [(strip % this.across) * this.size, top + (this.upright ? LABEL : 0) + row * this.size];
    }

    cell(strip, row) {
      if (!this.upright) return strip < this.num ? strip : -1;
      const at = this.first[strip] + row;
      return strip < this.num && at < this.first[strip + 1] ? at : -1;
    }

    at(x, y) {
      const band = Math.floor(y / this.pitch());
      const strip = band * this.across + Math.floor(x / this.size);
      const row = this.upright ? Math.floor((y - band * this.pitch() - LABEL) / this.size) : 0;
      return x < this.across * this.size && row >= 0 && row < this.tall ? this.cell(strip, row) : -1;
    }

    where(index) {
      if (!this.upright) return [index, 0];
      let low = 0, high = this.num - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.first[middle] <= index) low = middle; else high = middle - 1;
      }
      return [low, index - this.first[low]];
    }
  }

  class Grid {
    constructor(figure, cells) {
      this.figure = figure;
      this.cells = cells;
      this.canvas = figure.querySelector("canvas");
      this.told = figure.querySelector("figcaption");
      if (!cells.nodes.length) this.told.textContent = ROWS;
      this.hint = this.told.textContent;
      this.shows = "state";
      this.chosen = -1;
      this.base = document.createElement("canvas");
      this.most = cells.late ? cells.late.reduce((a, b) => Math.max(a, b), 0) : 0;
      this.outstanding = [...cells.state.keys()].filter((k) => this.standsOut(k));
      this.listen();
    }

    name(index) { return this.cells.states[this.cells.state[index]]; }
    standsOut(index) { return STANDS_OUT.has(this.name(index)); }

    listen() {
      const { canvas } = this;
      canvas.addEventListener("mousemove", (event) => this.choose(this.under(event)));
      canvas.addEventListener("mouseleave", () => this.choose(-1));
      canvas.addEventListener("click", (event) => this.open(this.under(event)));
      canvas.addEventListener("keydown", (event) => this.key(event));
      const bar = this.figure.querySelector(".bar");
      bar.hidden = !this.cells.late;
      bar.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        this.shows = button.dataset.shows;
        for (const one of bar.children) one.setAttribute("aria-pressed", String(one === button));
        this.draw();
      });
      new ResizeObserver(() => this.draw()).observe(this.figure);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    under(event) {
      const box = this.canvas.getBoundingClientRect();
      return this.layout.at(event.clientX - box.left, event.clientY - box.top);
    }

    key(event) {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const { num } = this.cells;
      let to = this.chosen;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in step) to = to < 0 ? 0 : this.beside(step[event.key]);
      else if (event.key === "Home") to = 0;
      else if (event.key === "End") to = num - 1;
      else if (event.key === "n" || event.key === "N") to = this.outstanding.find((k) => k > to) ?? this.outstanding[0] ?? to;
      else if (event.key === "p" || event.key === "P") to = this.outstanding.findLast((k) => k < to) ?? this.outstanding.at(-1) ?? to;
      else if (event.key === "Escape") to = -1;
      else if (event.key === "Enter") return this.open(this.chosen);
      else return;
      event.preventDefault();
      this.choose(to);
    }

    beside([right, down]) {
      const { layout } = this;
      const [strip, row] = layout.where(this.chosen);
      let to;
      if (!layout.upright) to = layout.cell(strip + right + down * layout.across, 0);
      else if (down && (row + down < 0 || row + down >= layout.tall)) {
        to = layout.cell(strip + down * layout.across, down > 0 ? 0 : layout.tall - 1);
      } else to = layout.cell(strip + right, row + down);
      return to >= 0 && to < this.cells.num ? to : this.chosen;
    }

    open(index) {
      const node = index >= 0 && this.layout.upright ? this.cells.nodes[this.layout.where(index)[0]][0] : "";
      if (node) location.assign(`/nodes/${encodeURIComponent(node)}`);
    }

    choose(index) {
      if (index === this.chosen) return;
      this.chosen = index;
      this.told.textContent = index < 0 ? this.hint : this.words(index);
      this.show();
    }

    words(index) {
      const { cells, layout } = this;
      const node = layout.upright ? cells.nodes[layout.where(index)[0]][0] : "";
      const place = cells.place ? cells.places[cells.place[index]] : "";
      const late = cells.late && cells.late[index] ? `${cells.late[index].toFixed(1)} ms late an operation` : "";
      const state = this.name(index).replace("_", " ");
      return [`rank ${cells.rank[index]}`, node, state, place, late].filter(Boolean).join(", ");
    }

    colours() {
      const style = getComputedStyle(document.documentElement);
      return (name) => style.getPropertyValue(`--${name}`).trim();
    }

    draw() {
      const width = this.figure.clientWidth;
      if (!width) return;
      const began = performance.now();
      this.layout = new Layout(this.cells, width);
      const ratio = devicePixelRatio || 1, height = this.layout.height();
      for (const canvas of [this.canvas, this.base]) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      this.canvas.style.setProperty("height", `${height}px`);
      const pen = this.base.getContext("2d");
      pen.scale(ratio, ratio);
      const colour = this.colours();
      this.cellsOn(pen, colour);
      this.namesOn(pen, colour);
      this.signsOn(pen, colour);
      this.show();
      this.figure.dataset.drawMs = (performance.now() - began).toFixed(2);
    }

    cellsOn(pen, colour) {
      const { layout, cells } = this;
      const fills = this.shows === "late" ? null : this.fills(pen, colour);
      const gap = layout.size > 12 ? 2 : 1;
      const scale = Math.log1p(this.most);
      let k = 0;
      for (let strip = 0; strip < layout.num; strip += 1) {
        const rows = layout.upright ? layout.first[strip + 1] - layout.first[strip] : 1;
        for (let row = 0; row < rows; row += 1, k += 1) {
          const [x, y] = layout.spot(strip, row);
          if (fills) pen.fillStyle = fills[cells.state[k]];
          else {
            pen.globalAlpha = 1;
            pen.fillStyle = colour("idle");
            pen.fillRect(x, y, layout.size - gap, layout.size - gap);
            pen.globalAlpha = Math.log1p(cells.late[k]) / scale;
            pen.fillStyle = colour("may");
          }
          pen.fillRect(x, y, layout.size - gap, layout.size - gap);
        }
      }
      pen.globalAlpha = 1;
    }

    fills(pen, colour) {
      const plain = { culprit: "bad", possible: "may", waiting: "waiting", idle: "idle" };
      return this.cells.states.map((name) => {
        if (plain[name]) return colour(plain[name]);
        const tile = document.createElement("canvas");
        tile.width = tile.height = 4;
        const dots = tile.getContext("2d");
        dots.fillStyle = colour("panel");
        dots.fillRect(0, 0, 4, 4);
        dots.fillStyle = colour(name === "no_dump" ? "ink" : "soft");
        if (name === "no_dump") for (let i = 0; i < 4; i += 1) dots.fillRect(i, 3 - i, 1, 1);
        else dots.fillRect(1, 1, 1, 1);
        return pen.createPattern(tile, "repeat");
      });
    }

    namesOn(pen, colour) {
      const { layout, cells } = this;
      if (!layout.upright) return;
      pen.fillStyle = colour("soft");
      pen.font = "12px system-ui, sans-serif";
      for (let strip = 0; strip < layout.num; strip += layout.across) {
        const last = Math.min(strip + layout.across, layout.num) - 1;
        const [x, y] = layout.spot(strip, 0);
        const names = strip === last ? cells.nodes[strip][0] : `${cells.nodes[strip][0]} to ${cells.nodes[last][0]}`;
        pen.fillText(names, x, y - 5);
      }
    }

    signsOn(pen, colour) {
      const { layout } = this;
      const small = layout.size < 14;
      const marked = this.outstanding.filter((k) => !small || this.name(k) !== "no_dump");
      if (small && marked.length > MOST_RINGS) return;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.font = "bold 13px system-ui, sans-serif";
      for (const k of marked) {
        const [x, y] = layout.spot(...layout.where(k));
        const name = this.name(k), middle = (layout.size - 1) / 2;
        pen.fillStyle = colour(name === "no_dump" ? "ink" : "page");
        pen.strokeStyle = colour(name === "culprit" ? "bad" : "may");
        pen.lineWidth = 2.5;
        if (!small) {
          pen.fillText(SIGNS[name], x + middle, y + middle);
          continue;
        }
        pen.setLineDash(name === "culprit" ? [] : [4, 2]);
        pen.beginPath();
        pen.arc(x + middle, y + middle, Math.max(9, layout.size), 0, 7);
        pen.stroke();
      }
      pen.setLineDash([]);
      pen.textAlign = "start";
      pen.textBaseline = "alphabetic";
    }

    show() {
      const pen = this.canvas.getContext("2d"), { layout } = this;
      const ratio = devicePixelRatio || 1;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
      pen.drawImage(this.base, 0, 0);
      if (this.chosen < 0) return;
      pen.scale(ratio, ratio);
      const [x, y] = layout.spot(...layout.where(this.chosen));
      pen.strokeStyle = this.colours()("ink");
      pen.lineWidth = 2;
      pen.strokeRect(x - 1.5, y - 1.5, layout.size + 2, layout.size + 2);
    }
  }

  async function begin(figure) {
    if (figure.dataset.begun) return;
    figure.dataset.begun = "yes";
    const answer = await fetch(figure.dataset.src, { credentials: "same-origin" });
    if (!answer.ok) return;
    const cells = unpacked(await answer.arrayBuffer());
    figure.hidden = false;
    new Grid(figure, cells).draw();
    figure.dataset.drawnAt = performance.now().toFixed(1);
  }

  document.addEventListener("htmx:load", () => document.querySelectorAll(".rank-grid").forEach(begin));
  document.querySelectorAll(".rank-grid").forEach(begin);
})();
