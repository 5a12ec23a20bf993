// What somebody may do, in words.

import { Badge, Group } from '@mantine/core';
import type { Scope } from '../service/me.tsx';
import { allScopes } from '../service/roles.ts';
import { texts } from '../texts.ts';

export function Rights({ scopes }: { readonly scopes: readonly Scope[] }) {
  return (
    <Group gap={6} component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
      {allScopes
        .filter((scope) => scopes.includes(scope))
        .map((scope) => (
          <li key={scope}>
            <Badge variant="default" tt="none" fw={500} radius="sm" h="auto" className="right">
              {texts.scopes[scope]}
            </Badge>
          </li>
        ))}
    </Group>
  );
}
