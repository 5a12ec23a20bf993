// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function PeopleScreen() {
  return <Screen title={texts.people.title}>{texts.nothing}</Screen>;
}
