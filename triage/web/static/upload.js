// Uploading: what was dropped or chosen becomes one tar, made of the files themselves, so that a
// gigabyte of dumps takes no memory here.
(() => {
  "use strict";

  const form = document.getElementById("upload"), drop = document.getElementById("drop");
  const said = document.getElementById("said"), told = document.getElementById("chosen");
  const progress = document.getElementById("progress"), BLOCK = 512;
  const encoder = new TextEncoder();
  let chosen = [];

  function octal(number, digits) {
    return number.toString(8).padStart(digits - 1, "0") + "\0";
  }

  function header(name, size, kind) {
    const block = new Uint8Array(BLOCK);
    const put = (text, at) => block.set(encoder.encode(text), at);
    put(name, 0);
    put(octal(0o644, 8), 100);
    put(octal(0, 8) + octal(0, 8), 108);
    put(octal(size, 12) + octal(0, 12), 124);
    put("        " + kind, 148);
    put("ustar\x0000", 257);
    put(octal(block.reduce((a, b) => a + b, 0), 7) + " ", 148);
    return block;
  }

  function padding(size) {
    return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
  }

  // A name that ustar cannot hold stands in a record of its own before the file.
  function named(path, size) {
    if (/^[\x20-\x7e]{1,100}$/.test(path)) return [header(path, size, "0")];
    const text = ` path=${path}\n`, bytes = encoder.encode(text).length;
    let length = bytes + 1;
    while (String(length).length + bytes !== length) length = String(length).length + bytes;
    const record = encoder.encode(length + text);
    return [header("pax", record.length, "x"), record, padding(record.length), header("long", size, "0")];
  }

  function tarOf(files) {
    const parts = [];
    for (const { path, file } of files) parts.push(...named(path, file.size), file, padding(file.size));
    parts.push(new Uint8Array(2 * BLOCK));
    return new Blob(parts);
  }

  const isTar = (name) => /\.(tar|tar\.(gz|zst|xz|bz2)|tgz|tzst|txz|tbz2)$/i.test(name);

  async function inside(entry, path = "") {
    if (entry.isFile) {
      const file = await new Promise((found, failed) => entry.file(found, failed));
      return [{ path: path + file.name, file }];
    }
    const reader = entry.createReader(), found = [];
    for (;;) {
      const some = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return found;
      for (const one of some) found.push(...await inside(one, `${path}${entry.name}/`));
    }
  }

  function bytes(number) {
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (number < 1024 || unit === "GiB") return `${unit === "B" ? number : number.toFixed(1)} ${unit}`;
      number /= 1024;
    }
    return "";
  }

  async function take(files) {
    chosen = files.filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
    const size = chosen.reduce((sum, { file }) => sum + file.size, 0);
    told.textContent = `${chosen.length.toLocaleString("en")} ${chosen.length === 1 ? "file" : "files"}, ${bytes(size)}`;
    said.hidden = true;
    await nameJob();
  }

  // The names of job and cluster, where a job.json among the files says them and nobody typed others.
  async function nameJob() {
    const found = chosen.find(({ path, file }) => path.split("/").pop() === "job.json" && file.size < 1 << 20);
    if (!found) return;
    try {
      const facts = JSON.parse(await found.file.text());
      for (const field of [form.job_id, form.cluster]) {
        const name = facts[field.name];
        if (name && !field.value) field.value = String(name).slice(0, 256);
      }
    } catch { /* the service says what is wrong with it */ }
  }

  function refuse(words) {
    said.textContent = words;
    said.hidden = false;
    progress.hidden = true;
    form.querySelector("button").disabled = false;
  }

  function send(body) {
    const names = new URLSearchParams();
    for (const field of [form.job_id, form.cluster]) {
      if (field.value.trim()) names.set(field.name, field.value.trim());
    }
    const request = new XMLHttpRequest();
    request.open("POST", names.size ? `/upload/bundle?${names}` : "/upload/bundle");
    request.setRequestHeader("X-Triage-Word", form.word.value);
    request.setRequestHeader("Content-Type", "application/x-tar");
    request.upload.onprogress = (event) => { if (event.lengthComputable) progress.value = event.loaded / event.total; };
    request.onerror = () => refuse("The service did not answer. Nothing is lost: send it again.");
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* told below */ }
      if (request.status === 200) location.assign(answer.incident);
      else refuse([answer.detail || `The service said ${request.status}.`, answer.hint].filter(Boolean).join(" "));
    };
    request.send(body);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!chosen.length) return refuse("Choose files or a folder first.");
    form.querySelector("button").disabled = true;
    progress.hidden = false;
    const [only] = chosen;
    send(chosen.length === 1 && isTar(only.file.name) ? only.file : tarOf(chosen));
  });

  form.addEventListener("change", (event) => {
    if (event.target.type !== "file") return;
    take([...event.target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
  });

  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    const found = [];
    for (const entry of entries) found.push(...await inside(entry));
    await take(found);
  });
  drop.querySelector(".drop-hint").hidden = false;
  form.querySelector("button").disabled = false;
})();
