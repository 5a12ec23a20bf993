// Invites somebody: name, role, locations. What was typed stays until it is settled; the link that
// comes of it is nowhere but on the page.

import type { Person } from '@tallybook/client';
import { grantOf } from '../../parts/granted-locations.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { useMe } from '../../service/me.tsx';
import { usePost } from '../../service/post.ts';
import type { RoleName } from '../../service/roles.ts';
import { texts } from '../../texts.ts';
import { type Access, AccessDialog } from './access-dialog.tsx';
import { RoleField } from './role-field.tsx';

const words = texts.people;

interface Invitation extends Access {
  readonly role: RoleName;
}

function useInvitation() {
  const { allLocations } = useMe();
  return useDraft<Invitation>('person:invite', {
    name: '',
    role: 'keeper',
    all_locations: allLocations,
    location_ids: [],
  });
}

/** An invitation that was sent, and not answered, goes on where it was left. */
export const useIsInviting = (): boolean => useInvitation().isSent;

interface InvitePersonProps {
  onDone(person: Person): void;
  onClose(): void;
}

export function InvitePerson({ onDone, onClose }: InvitePersonProps) {
  const draft = useInvitation();
  const post = usePost({
    draft,
    write: ({ name, role, ...granted }, options) =>
      tb.people.invite({ name: name.trim(), role, ...grantOf(granted) }, options),
    onDone: ({ data }) => onDone(data),
  });
  const { value, isSent } = draft;
  return (
    <AccessDialog
      {...{ draft, post, onClose }}
      title={words.invite}
      nameField={{ label: words.name, description: words.nameHint, maxLength: 100 }}
      rights={
        <RoleField
          value={value.role}
          isOff={isSent}
          onChange={(role) => draft.change({ ...value, role })}
        />
      }
      text={words.makeLink}
    />
  );
}
