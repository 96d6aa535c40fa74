/**
 * A window's part of the extension host, without the editor's: an App on the state directory and the settings that it is given, the lists of requests and
 * the view of the clusters as they are when a person looks at them. Prints `ready` with what it holds; ends with its input.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseConfig } from '#app/config/config';
import { createApp } from '#app/create-app';
import { AppSession } from '#hosts/vscode/app-session';
import { RequestFeed } from '#hosts/vscode/approvals-view/request-feed';
import { ClusterFeed } from '#hosts/vscode/cluster-view/cluster-feed';
import { wholeLook } from '#hosts/vscode/cluster-view/cluster-look';
import { buildTree, type Tree } from '#hosts/vscode/cluster-view/cluster-tree';

const [folder = '', root = '', guests = ''] = process.argv.slice(2);
const fail = (error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
};
const log = { debug: () => undefined, info: () => undefined, warn: fail, error: fail };

const session = new AppSession(
  () =>
    createApp({
      ...{ baseDir: folder, stateDir: path.join(folder, 'banksman'), configFile: path.join(folder, 'config.json'), log },
      config: parseConfig(JSON.parse(readFileSync(path.join(folder, 'demo.json'), 'utf8')), 'bench'),
      storeWorker: path.join(root, 'dist', 'store-worker.cjs'),
      via: 'editor',
      version: 'bench',
      stays: true,
    }),
  fail,
);
const pending = new RequestFeed({ session, statuses: ['pending'], onError: fail });
const clusters = new ClusterFeed(session);
let tree: Tree | undefined;
clusters.onChange(() => {
  tree = buildTree(clusters.clusters, clusters.running, wholeLook);
});
clusters.watch('bench', true);
session.reload();

const look = setInterval(() => {
  const rows = clusters.clusters.flatMap(({ overview }) => overview?.resources ?? []).length;
  if (tree === undefined || rows < Number(guests) || pending.records.length === 0) return;
  clearInterval(look);
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const mb = (bytes: number) => Math.round(bytes / 1e6);
  process.stdout.write(
    `ready ${rows} rows, ${pending.records.length} requests, ${mb(heapUsed)} MB of heap in use, ${mb(external)} outside\n`,
  );
}, 200);
process.stdin.on('end', () => process.exit(0)).resume();
