import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sumReports } from '../../../scripts/lib/test-reports.mjs';

describe('the sum over all vitest runs', () => {
  it('adds up, and names each failed test, a file that could not be loaded among them', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'banksman-reports-'));
    const report = { numPassedTests: 3, numPendingTests: 1, numTodoTests: 0 };
    const tests = [
      { status: 'passed', fullName: 'a gate opens', failureMessages: [] },
      {
        status: 'failed',
        fullName: 'a gate closes',
        failureMessages: ['\u001B[31mAssertionError: expected 1 to be 2\u001B[39m\n    at gate.ts:1'],
      },
    ];
    const failed = { name: '/gate.test.ts', status: 'failed', message: '', assertionResults: tests };
    const unloaded = { name: '/broken.test.ts', status: 'failed', message: 'SyntaxError: no\n    at x', assertionResults: [] };
    writeFileSync(path.join(folder, 'a.json'), JSON.stringify({ ...report, testResults: [failed] }));
    writeFileSync(path.join(folder, 'b.json'), JSON.stringify({ ...report, testResults: [unloaded] }));
    expect(sumReports(folder)).toEqual({
      passed: 6,
      failed: [
        { file: '/gate.test.ts', test: 'a gate closes', reason: 'AssertionError: expected 1 to be 2' },
        { file: '/broken.test.ts', test: 'the file could not be loaded', reason: 'SyntaxError: no' },
      ],
      skipped: 2,
    });
    rmSync(folder, { recursive: true });
  });
});
