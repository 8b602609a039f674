-- The tags that administrators and publishers have given to a user: encrypted JSON; null: no tags.
alter table user add column tags blob;

create table user_tag (
    user_id integer not null references user (id) on delete cascade,
    tag blob not null check (length(tag) = 16),  -- a keyed hash of its lower-case form
    primary key (user_id, tag)
) strict, without rowid;

-- A fan-out reads this index page by page, after the devices that have the tag themselves.
create index user_tag_by_tag on user_tag (tag, user_id);
