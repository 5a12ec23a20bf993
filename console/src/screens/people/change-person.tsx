// Changes what somebody is called and may do.

import type { Person } from '@tallybook/client';
import { grantOf } from '../../parts/granted-locations.tsx';
import { tb } from '../../service/client.ts';
import { useDraft } from '../../service/drafts.ts';
import { usePost } from '../../service/post.ts';
import type { RoleName } from '../../service/roles.ts';
import { texts } from '../../texts.ts';
import { type Access, AccessDialog, OtherAccess } from './access-dialog.tsx';
import { RoleField } from './role-field.tsx';

const words = texts.people;

interface Change extends Access {
  readonly role: RoleName;
  readonly version: number;
}

const changeOf = ({ name, role, all_locations, location_ids, version }: Person): Change => ({
  ...{ name, role, all_locations, location_ids, version },
});

export interface PersonDialogProps {
  readonly person: Person;
  onDone(person: Person): void;
  onClose(): void;
}

export function ChangePerson({ person, onDone, onClose }: PersonDialogProps) {
  const { id } = person;
  const draft = useDraft<Change>(`person:${id}`, changeOf(person));
  const post = usePost({
    draft,
    write: ({ name, role, version, ...granted }, options) =>
      tb.people.update(
        id,
        { name: name.trim(), role, ...grantOf(granted) },
        { ...options, ifMatch: version },
      ),
    onDone: ({ data }) => onDone(data),
  });
  const { value, isSent } = draft;
  return (
    <AccessDialog
      {...{ draft, post, onClose }}
      title={words.changeOf(person.name)}
      nameField={{ label: words.name, maxLength: 100 }}
      rights={
        <RoleField
          value={value.role}
          isOff={isSent}
          onChange={(role) => draft.change({ ...value, role })}
        />
      }
      text={texts.save}
      other={(leave) => (
        <OtherAccess<Change, Person>
          queryKey={['people', id]}
          draft={draft}
          nameLabel={words.name}
          rightsLabel={words.role}
          rightsOf={({ role }) => texts.roles[role] ?? role}
          read={(signal) => tb.people.get(id, { signal })}
          onMine={post.send}
          onTheirs={leave}
        />
      )}
    />
  );
}
