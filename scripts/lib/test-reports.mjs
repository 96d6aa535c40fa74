// Plain JavaScript for Node 20: scripts/test.mjs runs before the first `npm ci`.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { cacheFolder } from './cache-folder.mjs';

const SWITCH = 'BANKSMAN_TEST_REPORTS';

/**
 * Reporters for a vitest configuration: the usual one, and for `npm test` a report to add up. Every run
 * writes a file of its own.
 * @returns {import('vitest/config').ViteUserConfig['test']['reporters']}
 */
export function reporters() {
  const folder = process.env[SWITCH];
  if (!folder) return ['default'];
  const outputFile = path.join(folder, `${Date.now()}-${process.pid}.json`);
  return ['default', ['json', { outputFile }]];
}

/** An empty folder for reports, as the environment that makes vitest write them. */
export function newReportFolder() {
  const folder = path.join(cacheFolder(), 'test-reports');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return { folder, env: { [SWITCH]: folder } };
}

/**
 * @param {string} folder
 * @returns {{ passed: number, failed: Failure[], skipped: number }} over all vitest runs; a test file that could not
 *   be loaded counts as one failed test
 *
 * @typedef {{ file: string, test: string, reason: string }} Failure `reason` is the first line of what it said
 */
export function sumReports(folder) {
  const sum = { passed: 0, failed: [], skipped: 0 };
  for (const name of readdirSync(folder)) {
    const report = JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
    sum.passed += report.numPassedTests;
    sum.failed.push(...report.testResults.flatMap(failuresOf));
    sum.skipped += report.numPendingTests + report.numTodoTests;
  }
  return sum;
}

function failuresOf({ name: file, status, message, assertionResults }) {
  const failure = (test, reason = '') => ({ file, test, reason: stripVTControlCharacters(reason).split('\n', 1)[0] });
  if (status === 'failed' && assertionResults.length === 0) return [failure('the file could not be loaded', message)];
  return assertionResults.filter((test) => test.status === 'failed').map((test) => failure(test.fullName, test.failureMessages[0]));
}
