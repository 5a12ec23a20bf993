// What a program may do: some of what one may do oneself.

import { Checkbox, SimpleGrid } from '@mantine/core';
import type { Draft } from '../../service/drafts.ts';
import { type Scope, useMe } from '../../service/me.tsx';
import { allScopes } from '../../service/roles.ts';
import { texts } from '../../texts.ts';

interface Scoped {
  readonly scopes: readonly Scope[];
}

export function ScopesField<Value extends Scoped>({ draft }: { readonly draft: Draft<Value> }) {
  const me = useMe();
  const { value, isSent, change } = draft;
  return (
    <Checkbox.Group
      label={texts.tokens.scopes}
      value={[...value.scopes]}
      onChange={(chosen) => {
        change({ ...value, scopes: allScopes.filter((scope) => chosen.includes(scope)) });
      }}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={6} verticalSpacing={6} mt={4}>
        {allScopes
          .filter((scope) => me.scopes.has(scope))
          .map((scope) => (
            <Checkbox key={scope} value={scope} label={texts.scopes[scope]} disabled={isSent} />
          ))}
      </SimpleGrid>
    </Checkbox.Group>
  );
}
