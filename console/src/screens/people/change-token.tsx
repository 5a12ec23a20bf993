// Changes what a program may do, and when its token ends.

import { Checkbox } from '@mantine/core';
import type { Token } from '@tallybook/client';
import { grantOf } from '../../parts/granted-locations.tsx';
import { tb } from '../../service/client.ts';
import { type Draft, useDraft } from '../../service/drafts.ts';
import type { Scope } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import { type Access, AccessDialog, OtherAccess } from './access-dialog.tsx';
import { DaysField } from './make-token.tsx';
import { ScopesField } from './scopes-field.tsx';

const words = texts.tokens;

interface Change extends Access {
  readonly scopes: readonly Scope[];
  /** Null: its end stays. */
  readonly days: number | null;
  readonly version: number;
}

const changeOf = ({ name, scopes, all_locations, location_ids, version }: Token): Change => ({
  ...{ name, scopes, all_locations, location_ids, version, days: null },
});

export interface TokenDialogProps {
  readonly token: Token;
  onDone(): void;
  onClose(): void;
}

export function ChangeToken({ token, onDone, onClose }: TokenDialogProps) {
  const { id } = token;
  const draft = useDraft<Change>(`token:${id}`, changeOf(token));
  const post = usePost({
    draft,
    write: ({ name, scopes, days, version, ...granted }, options) =>
      tb.tokens.update(
        id,
        {
          ...{ name: name.trim(), scopes, ...grantOf(granted) },
          ...(days === null ? {} : { expires_in_days: days }),
        },
        { ...options, ifMatch: version },
      ),
    onDone,
  });
  const { value } = draft;
  return (
    <AccessDialog
      {...{ draft, post, onClose }}
      title={words.changeOf(token.name)}
      nameField={{ label: words.name, maxLength: 255 }}
      rights={<ScopesField draft={draft} />}
      isReady={value.scopes.length > 0}
      end={<End draft={draft} />}
      text={texts.save}
      other={(leave) => (
        <OtherAccess<Change, Token>
          queryKey={['tokens', id]}
          draft={draft}
          nameLabel={words.name}
          rightsLabel={words.scopes}
          rightsOf={({ scopes }) => scopes.map((scope) => texts.scopes[scope]).join(', ')}
          read={(signal) => tb.tokens.get(id, { signal })}
          onMine={post.send}
          onTheirs={leave}
        />
      )}
    />
  );
}

function End({ draft: { value, isSent, change } }: { readonly draft: Draft<Change> }) {
  return (
    <>
      <Checkbox
        label={words.newEnd}
        checked={value.days !== null}
        disabled={isSent}
        onChange={(event) => change({ ...value, days: event.currentTarget.checked ? 90 : null })}
      />
      {value.days !== null && (
        <DaysField
          value={value.days}
          isOff={isSent}
          onChange={(days) => change({ ...value, days })}
        />
      )}
    </>
  );
}
