/** The Model Context Protocol project's own conformance suites: over a fixture behind our real entry, and over the product itself. */
import { InMemoryServerEventBus } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultLimits } from '#hosts/mcp/http/http-options';
import { type HttpEndpoint, serveHttp } from '#hosts/mcp/http/serve-http';
import { type Machine, startMachine } from '../support.ts';
import { createFixtureServer } from './fixture-server.ts';
import { type Check, runSuite, type SuiteRun } from './run-suite.ts';
import { startTokenProxy, type TokenProxy } from './token-proxy.ts';

const failures = (checks: readonly Check[]) => checks.filter(({ status }) => status === 'FAILURE');
/** The tasks extension: run and reported by the suite, never scored, and not in the SDK. */
const isTasks = ({ scenario }: Check) => scenario.startsWith('tasks-');
const passed = ({ checks }: SuiteRun) => checks.filter(({ status }) => status === 'SUCCESS').length;
const minutes = 240_000;

describe('a fixture behind our guards, tokens and transports', () => {
  const bus = new InMemoryServerEventBus();
  const token = { name: 'conformance', modelTier: 'basic', createdAt: '2026-01-01T00:00:00.000Z', expiresAt: null } as const;
  let endpoint: HttpEndpoint;
  let proxy: TokenProxy;

  beforeAll(async () => {
    const quiet = () => undefined;
    endpoint = await serveHttp({
      host: '127.0.0.1',
      port: 0,
      sse: false,
      allowedHosts: [],
      allowedOrigins: [],
      // The suite is one client that opens a session per scenario and closes none.
      limits: { ...defaultLimits, sessionsPerToken: 256, messageBurst: 10_000 },
      authentication: { check: (bearer) => Promise.resolve(bearer === 'secret' ? token : undefined), isLive: () => Promise.resolve(true) },
      createServer: (_caller, era) => createFixtureServer(bus, era),
      bus,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    proxy = await startTokenProxy(`${endpoint.origin}${endpoint.mcpPath}`, 'secret');
  });

  afterAll(async () => {
    await proxy.close();
    await endpoint.close();
  });

  test('stable suite, every scenario', { timeout: minutes }, async () => {
    const run = await runSuite('stable', proxy.url, ['--suite', 'all']);
    expect(failures(run.checks), run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    expect(passed(run)).toBe(44);
  });

  test('what 2025-11-25 requires', { timeout: minutes }, async () => {
    const run = await runSuite('alpha', proxy.url, ['--requirements', '2025-11-25']);
    expect(failures(run.checks), run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    expect(passed(run)).toBeGreaterThanOrEqual(81);
  });

  test('what 2026-07-28 requires', { timeout: minutes }, async () => {
    const run = await runSuite('alpha', proxy.url, ['--requirements', '2026-07-28']);
    const scored = run.checks.filter((check) => !isTasks(check));
    expect(failures(scored), run.output).toEqual([]);
    expect(run.exitCode, run.output).toBe(0);
    expect(passed({ ...run, checks: scored })).toBeGreaterThanOrEqual(150);
  });
});

describe('the product itself', () => {
  let machine: Machine;
  let proxy: TokenProxy;

  beforeAll(async () => {
    machine = startMachine();
    const bearer = await machine.createToken('conformance');
    proxy = await startTokenProxy((await machine.serve()).url, bearer);
  });

  afterAll(async () => {
    await proxy.close();
    await machine.close();
  });

  test.each(['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'])(
    'stable: %s',
    { timeout: minutes },
    async (scenario) => {
      const run = await runSuite('stable', proxy.url, ['--scenario', scenario]);
      expect(failures(run.checks), run.output).toEqual([]);
      expect(run.exitCode, run.output).toBe(0);
      expect(passed(run)).toBeGreaterThan(0);
    },
  );

  test.each([
    ['http-header-validation', '2026-07-28'],
    ['caching', '2026-07-28'],
    ['tools-list', '2026-07-28'],
    ['dns-rebinding-protection', '2026-07-28'],
    ['server-session-lifecycle', '2025-11-25'],
  ])('newest: %s', { timeout: minutes }, async (scenario, version) => {
    const run = await runSuite('alpha', proxy.url, ['--scenario', scenario, '--spec-version', version]);
    expect(failures(run.checks), run.output).toEqual([]);
    expect(passed(run)).toBeGreaterThan(0);
  });

  test('newest: server-stateless, but for the two checks that need the suite’s own tool', { timeout: minutes }, async () => {
    const run = await runSuite('alpha', proxy.url, ['--scenario', 'server-stateless', '--spec-version', '2026-07-28']);
    expect(failures(run.checks).map(({ id }) => id)).toEqual([
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
    ]);
    expect(passed(run)).toBeGreaterThanOrEqual(25);
  });
});
