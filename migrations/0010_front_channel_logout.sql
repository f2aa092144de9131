-- Front-channel logout was registered without effect; its members are no longer accepted. The rest of a client stays as it is.
UPDATE clients
   SET metadata = json_remove(metadata, '$.frontchannel_logout_uri', '$.frontchannel_logout_session_required')
 WHERE json_extract(metadata, '$.frontchannel_logout_uri') IS NOT NULL
    OR json_extract(metadata, '$.frontchannel_logout_session_required') IS NOT NULL;
