// Times in the reader's zone. The server writes UTC; this shows the same moment as the reader's
// clock has it, keeps UTC as the title, and prints UTC. Only <time> is touched, never a log line.
(() => {
  "use strict";

  const KEY = "triage.zone";
  const CLOCK = /^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/;
  const two = (number, digits = 2) => String(number).padStart(digits, "0");
  let local = true;
  try {
    local = localStorage.getItem(KEY) !== "utc";
  } catch { /* a browser that keeps nothing */ }

  function zoneOf(date) {
    const parts = new Intl.DateTimeFormat("en", {timeZoneName: "short"}).formatToParts(date);
    return parts.find((part) => part.type === "timeZoneName").value;
  }

  function localText(date, utc) {
    const day = `${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
    if (CLOCK.test(utc)) return `${day} ${clock}.${two(date.getMilliseconds(), 3)}`;
    const words = utc.length < 15 ? clock : `${date.getFullYear()}-${day} ${clock}`;
    return `${words} ${zoneOf(date)}`;
  }

  function show(root, inLocal) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const date = new Date(time.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      if (time.dataset.utc === undefined) time.dataset.utc = time.textContent;
      const utc = time.dataset.utc;
      time.textContent = inLocal ? localText(date, utc) : utc;
      const full = utc.endsWith("UTC") ? utc : `${utc} UTC`;
      time.title = full;
      const ago = time.nextElementSibling;
      if (ago && ago.classList.contains("ago")) ago.title = full;
    }
  }

  function name(inLocal) {
    for (const place of document.querySelectorAll("[data-zone]")) {
      place.textContent = inLocal ? `(${zoneOf(new Date())})` : "(UTC)";
    }
  }

  const button = document.getElementById("zone");

  function tell() {
    show(document, local);
    name(local);
    if (!button) return;
    button.hidden = false;
    button.textContent = local ? `Local time (${zoneOf(new Date())})` : "UTC";
    button.title = local ? "Show times in UTC" : "Show times in the zone of this browser";
  }

  if (button) {
    button.addEventListener("click", () => {
      local = !local;
      try {
        localStorage.setItem(KEY, local ? "local" : "utc");
      } catch { /* it holds for this page */ }
      tell();
    });
  }
  document.addEventListener("htmx:load", (event) => {
    show(event.detail.elt, local);
    name(local);
  });
  document.addEventListener("triage:times", (event) => show(event.detail, local));
  addEventListener("beforeprint", () => { show(document, false); name(false); });
  addEventListener("afterprint", tell);
  tell();
})();
