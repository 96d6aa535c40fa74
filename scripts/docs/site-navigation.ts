/** What stands in the site's navigation, in its order. Files count from the repository's root. */
export interface NavigationGroup {
  readonly title: string;
  readonly pages: readonly (readonly [file: string, label: string])[];
}

export const navigation: readonly NavigationGroup[] = [
  {
    title: 'Banksman',
    pages: [
      ['README.md', 'What it is'],
      ['docs/start.md', 'Start'],
      ['docs/compare.md', 'Compared with others'],
      ['CHANGELOG.md', 'Changes'],
    ],
  },
  {
    title: 'Do',
    pages: [
      ['docs/connect-cluster.md', 'Connect a cluster'],
      ['docs/protect.md', 'Protect'],
      ['docs/approvals.md', 'Approve'],
      ['docs/plans.md', 'Plan'],
      ['docs/participant.md', '@banksman in the chat'],
      ['docs/undo.md', 'Take back'],
      ['docs/odd.md', 'Something odd'],
      ['docs/mcp.md', 'Connect agents (MCP)'],
      ['docs/hooks.md', 'Agents’ own shells'],
      ['docs/cookbook.md', 'Policy cookbook'],
      ['docs/policy.md', 'See and replay the policy'],
      ['docs/team.md', 'Team'],
      ['docs/upgrade.md', 'Upgrade and restore'],
    ],
  },
  {
    title: 'Run it for others',
    pages: [
      ['docs/service.md', 'The service'],
      ['docs/deployment.md', 'In containers'],
      ['docs/valkey.md', 'Valkey'],
      ['docs/telemetry.md', 'Telemetry'],
      ['docs/witness.md', 'A witness'],
      ['docs/scale.md', 'Scale'],
      ['docs/releasing.md', 'Releases'],
    ],
  },
  {
    title: 'Look up',
    pages: [
      ['docs/tools.md', 'Tools'],
      ['docs/rights.md', 'Rights of the token'],
      ['docs/security-settings.md', 'Levels, rules, scopes'],
      ['docs/reliability.md', 'Reliability and proof'],
    ],
  },
  {
    title: 'Limits and design',
    pages: [
      ['docs/threat-model.md', 'Threat model and limits'],
      ['docs/attacks.md', 'Attacks tried'],
      ['docs/design.md', 'Design'],
      ['docs/architecture.md', 'Architecture'],
      ['docs/adr/README.md', 'Decisions'],
      ['CONTRIBUTING.md', 'Contributing'],
      ['docs/guides.md', 'Adding something'],
      ['SECURITY.md', 'Report a hole'],
    ],
  },
];
