// What every page gains by a script: times told as "5 min ago", buttons that copy, filters that
// keep the address. Without it all of them still work, by reading, selecting and submitting.
(() => {
  "use strict";

  const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

  function ago(seconds) {
    if (seconds < 5) return "just now";
    for (const [unit, word] of UNITS) {
      if (seconds >= 2 * unit || unit === 1) return `${Math.floor(seconds / unit)} ${word} ago`;
    }
    return "";
  }

  function tellAges(root) {
    for (const time of root.querySelectorAll("time[data-ago]")) {
      let told = time.nextElementSibling;
      if (!told || !told.classList.contains("ago")) {
        told = document.createElement("span");
        told.className = "ago";
        time.after(" ", told);
      }
      const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
      told.title = time.title || time.textContent;
      told.textContent = seconds < 0 ? `in ${ago(-seconds).replace(" ago", "")}` : ago(seconds);
    }
  }

  async function copy(button) {
    const pre = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(pre.textContent);
    } catch {
      // No secure context, or no permission: what was selected can still be copied.
      const range = document.createRange();
      range.selectNodeContents(pre);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-autosubmit]");
    if (form) form.requestSubmit();
  });

  // "/" goes to the search box, as long as nobody is typing.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    const find = document.getElementById("find");
    if (!find || event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    find.focus();
    find.select();
  });

  // A filter that was left blank is not part of the address.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "get" || event.target.hasAttribute("hx-get")) return;
    for (const field of event.target.elements) if (field.name && !field.value) field.disabled = true;
  });
  addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("form :disabled")) field.disabled = false;
  });

  document.addEventListener("htmx:configRequest", (event) => {
    const sent = event.detail.parameters;
    for (const name of Object.keys(sent)) if (sent[name] === "") delete sent[name];
  });

  function dress(root) {
    for (const button of root.querySelectorAll("[data-copy]")) button.hidden = false;
    tellAges(root);
  }

  document.addEventListener("htmx:load", (event) => dress(event.detail.elt));
  document.documentElement.classList.add("scripted");
  dress(document);
  setInterval(() => tellAges(document), 20000);
})();
