// A small client of the gateway in JavaScript, without packages: node gateway_client.mjs http://127.0.0.1:7490 ann.privjail census
// It counts rows by a column, and asks for a mean; then it shows what that cost.

import { readFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";

export class Refused extends Error {
  constructor(status, { kind, what, plan, do: todo }) {
    super([what, plan && `  plan: ${plan}`, todo && `  do:   ${todo}`].filter(Boolean).join("\n"));
    Object.assign(this, { status, kind, what, plan, todo });
  }
}

export class Gateway {
  constructor(url, token) {
    this.url = url;
    this.headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  }

  async fetch(path, options = {}) {
    const answer = await fetch(this.url + path, { headers: this.headers, ...options });
    const body = await answer.json();
    if (!answer.ok) throw new Refused(answer.status, body.error);
    return body;
  }

  datasets = async () => (await this.fetch("/v1/datasets")).datasets;
  dataset = (name) => this.fetch(`/v1/datasets/${encodeURIComponent(name)}`);
  budget = async () => (await this.fetch("/v1/budget")).budgets;

  /** Ask, and pay. The id makes it safe to send the same query again when the connection breaks: it is charged once. */
  async ask(query, request = randomBytes(16).toString("hex")) {
    const body = JSON.stringify({ request, ...query });
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.fetch("/v1/queries", { method: "POST", body });
      } catch (error) {
        const again = !(error instanceof Refused) || error.status === 503;
        if (!again || attempt === 3) throw error;
      }
    }
  }
}

export const column = (name) => ({ column: name });
export const op = (name, ...args) => ({ op: name, args });

async function main([url, file, dataset]) {
  const { token } = JSON.parse(await readFile(file, "utf-8"));
  const gateway = new Gateway(url, token);
  const { columns } = await gateway.dataset(dataset);
  const group = columns.find((each) => each.categories), number = columns.find((each) => each.upper !== null);
  const older = [{ filter: op("ge", column(number.name), 40) }];
  const counts = await gateway.ask({ dataset, steps: older, ask: { statistic: "count", by: [group.name], eps: "1/2" } });
  for (const row of counts.answer) console.log(`${row.group[group.name]}: ${row.value} (${row.low} to ${row.high})`);
  const mean = await gateway.ask({ dataset, ask: { statistic: "mean", of: column(number.name), eps: "1/2" } });
  console.log(`mean of ${number.name}: ${mean.answer[0].value.toFixed(1)}`);
  for (const each of await gateway.budget()) console.log(`spent on ${each.dataset}: ${each.spent} of ${each.limit}`);
  await gateway.ask({ dataset, ask: { statistic: "sum", of: column("no such column"), eps: 1 } }).catch((error) => {
    console.log(`refused: ${error.message}`);
  });
}

if (process.argv[1]?.endsWith("gateway_client.mjs")) await main(process.argv.slice(2));
