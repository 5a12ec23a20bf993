// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function CustomersScreen() {
  return <Screen title={texts.customers.title}>{texts.nothing}</Screen>;
}
