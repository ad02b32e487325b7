// The part of a page that follows: says when it was last fresh, and turns stale where no answer
// comes. Whether anything has changed is the server's answer: 304 is as fresh as 200.
(() => {
  "use strict";

  const told = document.getElementById("fresh");
  if (!told) return;
  const lateMs = 3 * 1000 * Number(told.dataset.everyS);
  const whole = told.closest("[data-follows]");
  let freshAt = Date.now();

  function tell() {
    const stale = Date.now() - freshAt > lateMs;
    whole.classList.toggle("stale", stale);
    const at = new Date(freshAt).toISOString();
    const time = document.createElement("time");
    time.dateTime = at;
    time.textContent = `${at.slice(11, 19)} UTC`;
    const words = stale ? "The service does not answer. This is as of " : "Fresh as of ";
    if (told.dataset.words !== words) told.setAttribute("role", stale ? "alert" : "status");
    told.dataset.words = words;
    told.replaceChildren(words, time);
    document.dispatchEvent(new CustomEvent("triage:times", {detail: told}));
  }

  document.addEventListener("htmx:afterRequest", (event) => {
    const status = event.detail.xhr ? event.detail.xhr.status : 0;
    if (status === 200 || status === 304) {
      freshAt = Date.now();
      tell();
    }
  });
  tell();
  setInterval(tell, 2000);
})();
