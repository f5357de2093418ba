"use strict";
// Keeps the parts of a page that change up to date, and helps with connection files. Pages work without it.
const live = document.querySelector("[data-live]");
if (live) {
  setInterval(async () => {
    if (document.hidden || live.contains(document.activeElement)) return;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error", headers: { "X-Live": "1" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("[data-live]");
      if (fresh && fresh.innerHTML !== live.innerHTML) live.replaceChildren(...fresh.childNodes);
    } catch { /* the console is gone for now: try again later */ }
  }, 3000);
}
const connection = document.getElementById("connection");
if (connection) {
  connection.addEventListener("change", async () => {
    try {
      document.getElementById("token").value = JSON.parse(await connection.files[0].text()).token;
    } catch { /* not a connection file: the token stays as it was typed */ }
  });
}
const once = document.getElementById("once");
if (once) {
  document.getElementById("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([once.value], { type: "application/json" }));
    link.download = once.dataset.name;
    link.click();
  });
  document.getElementById("copy").addEventListener("click", () => navigator.clipboard.writeText(once.value));
}
