/** `node run-plan.ts JOB as JSON`: a process of its own that begins a plan, says so, and stays until it is killed. */
import { parseConfig } from '#app/config/config';
import { createApp } from '#app/create-app';
import type { Agent } from '#kernel/agent';

export interface PlanJob {
  readonly config: object;
  readonly folder: string;
  readonly stateDir: string;
  readonly plan: string;
  readonly agent: Agent;
}

const { config, folder, stateDir, plan, agent } = JSON.parse(process.argv[2] ?? '') as PlanJob;
const silent = () => undefined;
const app = await createApp({
  ...{
    config: parseConfig(config, 'test'),
    baseDir: folder,
    stateDir,
    configFile: `${folder}/config.json`,
    via: 'editor',
    version: 'test',
  },
  ...{ log: { debug: silent, info: silent, warn: silent, error: silent }, stays: true },
});
const { signal } = new AbortController();
const run = () => app.call({ tool: 'run_plan', input: { plan_id: plan }, agent, signal, waitMs: 0 });
let outcome = await run();
// Where a slow machine could not read a guest in time nothing has begun, and the approval is as good as before.
for (let again = 0; again < 10 && outcome.message.includes('could not be read'); again += 1) outcome = await run();
process.stdout.write(`${JSON.stringify(outcome)}\n`);
if (outcome.status === 'ok') setInterval(silent, 60_000);
else process.exit(1);
