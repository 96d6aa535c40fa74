/** Descriptions of infrastructure: formatting, checking and rendering them is local, applying them is not. */
import type { ToolRule } from '../tool-rule.ts';
import { words } from '../words.ts';

export const infrastructureRules: readonly ToolRule[] = [
  {
    id: 'workspace.terraform',
    programs: ['terraform', 'tofu'],
    paths: 'write',
    verbs: [
      { verbs: words('fmt validate version -version --version') },
      {
        verbs: words(
          'init plan apply destroy import refresh get login logout providers state workspace output show taint untaint graph console force-unlock test',
        ),
        concern: 'network_blocked',
        message: 'needs the network or holds secrets',
      },
    ],
    justification: 'formats and checks',
    match: ['terraform fmt -check -recursive', 'terraform validate'],
    notMatch: ['terraform apply', 'terraform init', 'terraform -chdir=/outside fmt'],
  },
];
