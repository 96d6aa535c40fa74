/**
 * What is built, from what, and what must not be in it.
 * @typedef {object} Bundle
 * @property {string} name file name in dist/, without `.cjs`
 * @property {string} entry
 * @property {string} target
 * @property {string[]} external modules that are there at run time without being shipped
 * @property {boolean} program whether the file is started by itself
 * @property {number} budget largest size in bytes; raise it only with a reason in the commit
 * @property {RegExp[]} forbidden inputs that must not get in
 * @property {Loads[]} [loads] makes it a packed bundle (pack-chunks.mjs), and says of its sources what they load at once
 *
 * @typedef {object} Loads
 * @property {RegExp} from sources that are loaded by `import(…)`, and the entry
 * @property {RegExp[]} [only] with them nothing but this
 * @property {RegExp[]} [never] with them none of this: it is loaded where it is used
 */

/** @type {Bundle[]} */
export const bundles = [
  {
    name: 'extension',
    entry: 'src/hosts/vscode/extension.ts',
    target: 'node24',
    external: ['vscode', './twin.cjs', './sinks.cjs'],
    program: false,
    // The built-in search is about 230 kB of it, the Valkey store 171 kB (fail-overs, confirmed changes and marks are 9 kB), the secret detector 75 kB, the rules for ssh 60 kB (their examples are left out), the view and journal of runs 45 kB, the operations on guests 60 kB, plans 25 kB, scopes, windows and the blast radius 45 kB, the trail's tree, checkpoints and proofs 13 kB, its witnesses and a store's copies 24 kB, what becomes of calls without an end 17 kB, plans as people see them 14 kB, the clusters’ view, the guests’ pages and the activity 50 kB, the assistant of the first run, the policy’s page, `@banksman` and the texts in other languages 150 kB, answering and installing agents' hooks 25 kB.
    budget: 2_640_000,
    // A window answers hooks and installs them; the program that agents start is the command line's.
    forbidden: [
      /^src\/demo\//,
      /^src\/hosts\/(?!vscode\/|hook\/(?!ask-hook))/,
      /node_modules\/playwright-core\//,
      /node_modules\/@modelcontextprotocol\//,
    ],
    loads: [
      {
        from: /^src\/hosts\/vscode\/extension\.ts$/,
        only: [/^src\/hosts\/vscode\/(?:extension|l10n)\.ts$/, /^src\/kernel\/text\/(?:message|text)\.ts$/],
      },
      {
        from: /^src\/hosts\/vscode\/window-session\.ts$/,
        // A window starts with everything that a person can look at and press, and nothing of what a call takes.
        never: [
          /node_modules\//,
          /^src\/(?!hosts\/vscode\/|kernel\/|approval\/|identity\/|execution\/sandbox\/|files\/folder-owner\.ts$|app\/)/,
          // Pages are loaded by whoever opens the first.
          /^src\/hosts\/vscode\/(?:details\/details-page|activity\/activity-p|policy\/policy-p|first-run\/doctor-p|cluster-view\/guest-p)/,
        ],
      },
    ],
  },
  {
    name: 'cli',
    entry: 'src/hosts/cli/main.ts',
    // Syntax that Node 20 can parse, so that under a Node that is too old the program lives long enough to say so (docs/design.md#state-and-configuration).
    target: 'node20',
    external: ['./sinks.cjs', './german.cjs'],
    program: true,
    // As the extension, and the MCP SDK with about 385 kB, the approval page with 48 kB, the demo cluster's tables of parameters and operations 120 kB, plans 25 kB, scopes, windows and the blast radius 45 kB, the trail's tree, checkpoints and proofs 13 kB, its witnesses and a store's copies 24 kB, what becomes of calls without an end 17 kB, the service's metrics and the schema of `sinks` 6 kB, the witness for other trails 10 kB, the commands' records 8 kB, hooks of agents 25 kB, completions and the manual page 5 kB, what its chunks say to each other 20 kB, clients’ configuration files and what edits them (JSON with comments, TOML) 40 kB, tables for people 10 kB, completions of three shells 4 kB, setting up a cluster 15 kB, the live view of a cluster and replayed calls 60 kB, a slot of Valkey Cluster that moves 4 kB.
    budget: 3_364_000,
    forbidden: [/^src\/hosts\/vscode\//, /node_modules\/playwright-core\//],
    loads: [
      // The table of commands, and how words are read and written: `--version` and `--help` need no more.
      {
        from: /^src\/hosts\/cli\/(?:main|run)\.ts$/,
        only: [
          /^src\/hosts\/cli\/(?:main|newer-node|run|command-line|command-table|output)\.ts$/,
          /^src\/app\/version\.ts$/,
          /^src\/kernel\/(?:errors|text\/message|text\/parse-args|text\/text)\.ts$/,
        ],
      },
      {
        from: /^src\/hosts\/cli\/commands\//,
        never: [/node_modules\/(?:ssh2|undici|re2js|iovalkey|@modelcontextprotocol)\//, /^src\/demo\//, /^src\/hosts\/(?!cli\/)/],
      },
      // Most calls run no command, and none of a node's; a replay and `doctor` come with none.
      {
        from: /^src\/hosts\/cli\/commands\/call\.ts$/,
        never: [/^src\/(?:execution\/(?:effects|command-runner)|policy\/ssh\/pages|app\/(?:doctor|replay))(?:\/|\.ts$)/],
      },
    ],
  },
  {
    name: 'twin',
    // The emulator that plans are rehearsed on: the extension loads it when one is proposed. The command line has it in its own file, for the demo.
    entry: 'src/app/plans/twin.ts',
    target: 'node24',
    external: [],
    program: false,
    budget: 400_000,
    forbidden: [
      /^src\/(?!kernel\/|demo\/|app\/plans\/twin\.ts$)/,
      /^src\/demo\/(?:ssh|index|demo-cluster|listener|certificate)/,
      /node_modules\//,
    ],
  },
  {
    name: 'sinks',
    // What tells the trail elsewhere: loaded where the configuration has `sinks`. undici is most of it, as in the others.
    entry: 'src/app/sinks/tell-trail.ts',
    target: 'node24',
    external: [],
    program: false,
    budget: 480_000,
    forbidden: [
      /^src\/(?!files\/(?:folder-owner|make-folder)\.ts$|kernel\/|audit\/|stores\/|connectors\/telemetry\/|app\/sinks\/|app\/config\/(?:private-file|paths)\.ts$|app\/finding\.ts$)/,
      /node_modules\/ssh2\//,
    ],
  },
  {
    name: 'german',
    // The texts in German, for the approval page: loaded with its first German reader.
    entry: 'src/hosts/page/german.ts',
    target: 'node24',
    external: [],
    program: false,
    budget: 280_000,
    forbidden: [/^src\/(?!hosts\/page\/german\.ts$)/, /node_modules\//],
  },
  {
    name: 'replay-worker',
    // The thread of a replay in the editor: the stages, the catalog that they decide about, and both stores to read the trail from.
    entry: 'src/app/replay/replay-worker.ts',
    target: 'node24',
    external: [],
    program: false,
    budget: 900_000,
    forbidden: [/^src\/(?:demo|hosts)\//, /node_modules\/(?:ssh2|undici|re2js)\//],
  },
  {
    name: 'store-worker',
    entry: 'src/app/store/store-worker.ts',
    target: 'node24',
    external: [],
    program: false,
    budget: 200_000,
    forbidden: [
      /^src\/(?!files\/(?:folder-owner|make-folder)\.ts$|kernel\/|stores\/|audit\/|approval\/|app\/store\/store-worker\.ts$)/,
      /node_modules\/(?:ssh2|undici)\//,
    ],
  },
];
