-- A movement belongs to the operation that names it. An operation names one resource, so none has
-- two movements: no later mistake in the program can commit a second effect under one key.
--
-- Safe beside nodes of the version before: they bind keys before they save movements.
--
-- The operation is sought once per movement, by its whole primary key. A join would be planned as
-- one, and walk the operations while they are few.
create function refuse_movement_of_another_operation() returns trigger language plpgsql as $$
begin
  if exists (
    select from added a
    left join lateral (
      select resource_id from public.operations o
      where o.merchant_id = a.merchant_id and o.id = a.operation_id
      limit 1) named on true
    where named.resource_id is distinct from a.id
  ) then
    raise exception 'a movement that its operation does not name'
      using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;

create trigger inventory_movements_named after insert on inventory_movements
  referencing new table as added
  for each statement execute function refuse_movement_of_another_operation();
